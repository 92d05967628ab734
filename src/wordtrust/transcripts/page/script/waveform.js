// Waveform: the sound of the stretch that is played, with its words; peaks come from the server, or from a picked file.
const Waveform = (() => {
  const width = 1000, height = 60, most = 600, longest = 1800;  // parts of a drawing; seconds of a file that is decoded here
  let shown = null, decoded = new Map(), asked = 0;

  const fromServer = async (sound, start, end) => {
    const answer = await fetch(sound.peaks + "?start=" + start.toFixed(3) + "&end=" + end.toFixed(3) + "&parts=" + most);
    return answer.ok ? (await answer.json()).peaks : null;
  };
  // All of a picked file, once, at few samples a second: enough to be seen.
  const samplesOf = (sound) => {
    if (!decoded.has(sound.url)) decoded.set(sound.url, (async () => {
      if (sound.file.size > 100e6) return null;
      const made = new OfflineAudioContext(1, 1, 8000);
      const buffer = await made.decodeAudioData(await sound.file.arrayBuffer());
      return buffer.duration > longest ? null : buffer.getChannelData(0);
    })().catch(() => null));
    return decoded.get(sound.url);
  };
  const peaksOf = (samples, rate, start, end, parts) => Array.from({ length: parts }, (_, part) => {
    const from = Math.floor((start + (end - start) * part / parts) * rate), to = Math.max(from + 1, Math.floor((start + (end - start) * (part + 1) / parts) * rate));
    let low = 0, high = 0;
    for (let at = Math.max(0, from); at < Math.min(samples.length, to); at++) { low = Math.min(low, samples[at]); high = Math.max(high, samples[at]); }
    return [low, high];
  });
  const peaks = async (sound, start, end) => {
    if (sound.peaks) return fromServer(sound, start, end);
    const samples = sound.file ? await samplesOf(sound) : null;
    return samples ? peaksOf(samples, 8000, start, end, most) : null;
  };

  const path = (list) => {
    const loudest = Math.max(0.05, ...list.map(([low, high]) => Math.max(-low, high))), middle = height / 2;
    const x = (part) => (part / list.length * width).toFixed(1), y = (value) => (middle - value / loudest * middle * 0.95).toFixed(1);
    return "M" + [...list.map(([, high], part) => x(part) + " " + y(high)), ...list.map(([low], part) => [low, part]).reverse().map(([low, part]) => x(part) + " " + y(low))].join("L") + "Z";
  };
  const labels = (recording, start, end) => {
    const inside = recording.segments.flatMap((segment) => segment.words).filter((word) => word.end > start && word.start < end);
    return inside.map((word) => Dom.make("span", { class: "w " + WordsView.level(word) + (Marks.isMarked(word) ? " on" : ""), text: Texts.visible(word.word || word.norm), title: Texts.clock(word.start, true) }))
      .map((element, index) => { element.style.left = 100 * Math.max(0, inside[index].start - start) / (end - start) + "%"; return element; });
  };

  const draw = (recording, start, end, list) => {
    const head = Dom.draw("line", { class: "head", x1: 0, x2: 0, y1: 0, y2: height });
    const svg = Dom.draw("svg", {
      viewBox: "0 0 " + width + " " + height, preserveAspectRatio: "none", role: "img", "aria-label": "Sound from " + Texts.clock(start, true) + " to " + Texts.clock(end, true),
      onclick: (event) => { const box = event.currentTarget.getBoundingClientRect(); Player.seek(start + (event.clientX - box.left) / box.width * (end - start)); },
    }, Dom.draw("path", { d: path(list) }), head);
    shown = { start, end, head };
    Dom.by("wave").replaceChildren(svg, Dom.make("div", { class: "wave-words", "aria-hidden": "true" }, ...labels(recording, start, end)));
    Dom.by("wave").hidden = false;
  };

  // Draws a stretch; what cannot be drawn is not shown.
  const show = async (recording, start, end) => {
    const sound = Player.sound(recording), turn = ++asked;
    if (!sound || (!sound.peaks && !sound.file)) return;
    const list = await peaks(sound, start, end).catch(() => null);
    if (turn === asked && list) draw(recording, start, end, list);
  };
  const follow = (seconds) => {
    if (!shown) return;
    const at = Math.max(0, Math.min(width, (seconds - shown.start) / (shown.end - shown.start) * width));
    shown.head.setAttribute("x1", at);
    shown.head.setAttribute("x2", at);
  };
  const forget = () => { decoded = new Map(); shown = null; asked += 1; Dom.by("wave").hidden = true; };

  return { show, follow, forget, peaksOf };
})();

