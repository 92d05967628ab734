// Player: sound, from the server, from a file beside the page, or from files that the reader picks; the words follow it.
const Player = (() => {
  const context = 0.5, skip = 3, together = 0.5, speeds = [0.5, 0.6, 0.75, 0.9, 1, 1.25, 1.5, 1.75, 2];  // seconds, but the speeds
  let audio = null, picked = new Map(), playing = null, sources = [], now = null, until = Infinity, last = null, order = new Map();
  const failed = new Set();  // addresses that could not be played
  const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
  const stem = (name) => name.replace(/\.[^.]*$/, "");

  // What is known of a recording in a map by names: its own, or the only one that there is.
  const lookUp = (map, recording) => {
    const names = [...new Set([recording.name, ...recording.segments.map((segment) => segment.utt)])];
    const name = [...names, ...names.map(stem)].find((each) => map.has(each));
    return name !== undefined ? map.get(name) : map.size === 1 ? [...map.values()][0] : undefined;
  };
  const given = () => new Map(Object.entries(Transcript.data.audio ?? {}));
  const sound = (recording) => lookUp(picked, recording) ?? lookUp(given(), recording) ?? null;  // { url, wav?, peaks?, file? }
  const load = (recording) => {
    const found = sound(recording), list = found ? [found.url, found.wav].filter((url) => url && !failed.has(url)) : [];
    playing = recording;
    if (!list.length) return false;
    if (!sources.length || sources.key !== found.url) {
      sources = Object.assign(list, { key: found.url });
      audio.src = sources[0];
      audio.playbackRate = audio.defaultPlaybackRate;
    }
    audio.hidden = false;
    return true;
  };
  let hasAsked = false;
  const ask = () => {
    if (hasAsked) return;
    hasAsked = true;
    const file = String(Transcript.about.file ?? "").split(/[\\/]/).at(-1);
    Notice.show(file ? "The audio " + file + " cannot be found here, or not be played." : "There is no audio here.", [{ label: "Choose the file\u2026", act: () => Dom.by("sound").click() }]);
  };
  // The next way to the same sound; without any, the reader is asked for it.
  const onError = () => {
    if (!audio.hasAttribute("src")) return;
    failed.add(sources.shift());
    if (sources.length) {
      audio.src = sources[0];
      if (last) begin();
    } else {
      audio.removeAttribute("src");
      audio.hidden = true;
      sources = [];
      if (last) ask();
    }
  };

  const begin = () => { audio.currentTime = last.start; until = last.end; audio.play().catch(() => {}); };
  // Plays the recording of a segment from `start` on, until `end` or to its end.
  const play = (segment, start, end = Infinity) => {
    const recording = Transcript.recordings[Transcript.segment(segment).recording];
    last = { segment, start: Math.max(0, start), end };
    if (!load(recording)) { if (sound(recording) || Transcript.data.save) ask(); return; }
    begin();
    Waveform.show(recording, last.start, Math.min(end, last.start + 20));
  };
  // The same with half a second before and after.
  const playStretch = (segment, start, end) => play(segment, start - context, end + context);
  const playWord = (word) => play(Transcript.segmentOf(word.id).id, word.start);
  // A doubtful word and those right after it.
  const playDoubtful = (word) => {
    const segment = Transcript.segmentOf(word.id);
    let end = word.end;
    for (const other of segment.words.slice(Transcript.indexOf(word.id) + 1)) {
      if (!Marks.isMarked(other) || other.start - end > together) break;
      end = other.end;
    }
    playStretch(segment.id, word.start, end);
  };
  const replay = () => { if (last) play(last.segment, last.start, last.end); else if (Position.here) playDoubtful(Transcript.word(Position.here)); };
  const isHere = (word) => last && playing && Math.abs(audio.currentTime - word.start) < 30 && Transcript.segmentOf(word.id).id === last.segment;
  // Plays on from where the sound is, or from the word that the reader is at.
  const toggle = (word) => {
    if (!audio.paused) audio.pause();
    else if (word && (!last || !isHere(word))) playWord(word);
    else if (playing && load(playing)) { until = Infinity; audio.play().catch(() => {}); } else ask();
  };
  const skipBack = (seconds = skip) => { if (playing) { audio.currentTime = Math.max(0, audio.currentTime - seconds); follow(); } };
  const setSpeed = (step) => {
    const at = speeds.findIndex((each) => each >= audio.playbackRate - 1e-6), speed = speeds[Math.max(0, Math.min(speeds.length - 1, at + step))];
    audio.defaultPlaybackRate = audio.playbackRate = speed;
    Dom.by("speed").textContent = speed + "\u00d7";
    Dom.say("speed " + speed);
  };

  const pick = (files) => {
    picked.forEach(({ url }) => URL.revokeObjectURL(url));
    picked = new Map(files.map((file) => [stem(file.name), { url: URL.createObjectURL(file), file }]));
    Dom.by("sound-name").textContent = files.length > 1 ? files.length + " files" : files.length ? files[0].name : "Audio…";
    sources = [];
    Waveform.forget();
    if (Transcript.recordings.length) load(Transcript.recordings[0]);
  };

  // The last word of the recording that has begun.
  const byTime = (recording) => {
    if (!order.has(recording.index)) order.set(recording.index, recording.segments.flatMap((segment) => segment.words).sort((one, other) => one.start - other.start));
    return order.get(recording.index);
  };
  const wordAt = (recording, seconds) => {
    const words = byTime(recording);
    let low = -1, high = words.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (words[middle].start <= seconds + 0.02) low = middle; else high = middle - 1;
    }
    return words[low] ?? null;
  };
  const follow = () => {
    if (!playing) return;
    if (audio.currentTime >= until) { until = Infinity; audio.pause(); }
    const word = wordAt(playing, audio.currentTime), element = word && WordsView.element(word.id);
    if (element !== now) {
      now?.classList.remove("now");
      element?.classList.add("now");
      now = element;
      const box = element?.getBoundingClientRect();
      if (box && !audio.paused && (box.top < 100 || box.bottom > innerHeight)) element.scrollIntoView({ block: "center", behavior: calm() ? "instant" : "smooth" });
    }
    Strip.follow(playing, audio.currentTime);
    Waveform.follow(audio.currentTime);
  };
  const tick = () => { follow(); if (!audio.paused) requestAnimationFrame(tick); };

  const onKey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || Dom.isTyping(event.target)) return;
    const onControl = event.target.closest("button, a, summary, input");
    const act = { r: replay, "[": () => setSpeed(-1), "]": () => setSpeed(1), ",": () => skipBack(), " ": onControl ? null : () => toggle(Position.here ? Transcript.word(Position.here) : null) }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };

  const start = () => {
    audio = Dom.by("player");
    audio.addEventListener("play", tick);
    audio.addEventListener("seeked", follow);
    audio.addEventListener("timeupdate", follow);  // where there are no frames: in a tab that is not seen
    audio.addEventListener("error", onError);
    Transcript.on("change", () => { order = new Map(); });
    Dom.by("sound").addEventListener("change", (event) => pick([...event.target.files]));
    for (const [id, act] of Object.entries({ replay, back: () => skipBack(), slower: () => setSpeed(-1), faster: () => setSpeed(1) })) Dom.by(id).addEventListener("click", act);
    document.addEventListener("keydown", onKey);
    document.addEventListener("click", (event) => {
      const at = event.target.closest(".at"), section = at && at.closest(".recording");
      if (section && section.dataset.recording) play(Transcript.recordings[Number(section.dataset.recording)].segments[0].id, Number(at.dataset.start));
    });
    Keys.add(["r", "play it again"], ["[, ]", "slower, faster"], [",", "back by three seconds"]);
    if (Transcript.data.save && Transcript.recordings.length && sound(Transcript.recordings[0])) load(Transcript.recordings[0]);
  };

  return {
    start, play, playStretch, playWord, playDoubtful, replay, toggle, skipBack, setSpeed, sound, wordAt,
    get time() { return audio.currentTime; }, get isPaused() { return audio.paused; },
    seek: (seconds) => { until = Infinity; audio.currentTime = seconds; audio.play().catch(() => {}); },
  };
})();

