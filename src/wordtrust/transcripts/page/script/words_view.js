// WordsView: shows recordings, segments and words.
const WordsView = (() => {
  const shades = 10, inBlock = 25;  // steps of colour; segments that are laid out together
  let elements = new Map(), counts = new Map();  // of words, and the elements that count doubtful ones in segments, by ids

  const level = (word) => {
    const { low, high } = Transcript.limits;
    if (word.accepted === undefined || word.accepted === null) return word.confidence < low ? "low" : word.confidence < high ? "medium" : "high";
    return word.accepted ? "high" : word.confidence < low ? "low" : "medium";
  };
  const isMadeUp = (word) => word.heard !== undefined && word.heard !== null;
  const madeUpMark = (word) => ({ silence: "nothing was heard here", loop: "said again and again: a loop?" })[word.made_up] || "";
  const alternativeText = (word, other) => Texts.visible(other.word) || (isMadeUp(word) ? "(nothing)" : "");
  const isMissing = (gap) => gap !== undefined && gap !== null && gap >= Transcript.limits.missing;

  // The alternative that is surer than the word itself, if one is: words are chosen as a sequence.
  const surer = (word) => {
    if (isMadeUp(word)) return null;
    const first = word.alternatives.reduce((best, other) => (best && best.confidence >= other.confidence ? best : other), null);
    return first && first.confidence > word.confidence + 5e-4 ? first : null;
  };

  const missing = (gap, place) =>
    [Dom.make("span", { class: "missing", title: "something may be missing here (" + Texts.percent(gap) + ")", text: "[…]", ...place }), " "];

  const edited = (word) => (word.original ? " edited" : "") + (word.checked ? " checked" : "");
  const wordElement = (word, written) => {
    const made = document.createElement("span");  // many: by hand
    made.className = "w " + level(word) + " c" + Math.round(word.confidence * shades) + edited(word) + (Marks.isMarked(word) ? " on" : "");
    made.setAttribute("data-id", word.id);
    made.textContent = Texts.visible(written);
    elements.set(word.id, made);
    return made;
  };

  const wordElements = (segment) => {
    const written = Texts.spelled(segment.words), made = [];
    segment.words.forEach((word, index) => {
      if (isMissing(word.missing_before)) made.push(...missing(word.missing_before, { "data-before": word.id }));
      made.push(wordElement(word, written[index][0]));
      if (written[index][1]) made.push(" ");
    });
    if (isMissing(segment.missing_end)) made.push(...missing(segment.missing_end, { "data-after": segment.words.at(-1)?.id }));
    return made;
  };

  const speaker = (segment) => {
    const voice = Texts.voice(segment);
    return voice ? [Dom.make("button", { type: "button", class: "speaker v" + voiceNumber(voice), title: "another speaker (key s)", text: Texts.shortName(voice) + ":" }), " "] : [];
  };
  // A number for each voice, in the order in which they begin, by which it is coloured.
  let voices = new Map();
  const voiceNumber = (voice) => { if (!voices.has(voice)) voices.set(voice, voices.size % 6); return voices.get(voice); };
  const whole = (segment) => {
    if (!isModelled(segment)) return [];
    const title = "how likely every word of this segment is right, and none is missing";
    return [" ", Dom.make("small", { class: "soft whole", title, text: "all right with " + Texts.percent(segment.confidence) })];
  };
  // Whether a model was asked about all of it: else its confidence is the product of those of its words.
  const isModelled = (segment) => {
    if (Transcript.isEdited(segment) || !segment.words.length || segment.confidence === null) return false;
    return Math.abs(segment.words.reduce((product, word) => product * Math.min(1, word.confidence), 1) - segment.confidence) > 1e-6;
  };
  const warnings = (segment) => (segment.warnings || []).length
    ? [" ", Dom.make("small", { class: "soft unusual", text: "(" + Texts.visible(segment.warnings.map((warning) => warning.message).join("; ")) + ")" })] : [];

  // The button that says that a person has listened to all of it.
  const seal = (segment) => {
    const checked = segment.words.length > 0 && segment.words.every((word) => word.checked);
    return Dom.make("button", { type: "button", class: "seal", tabindex: -1, "aria-pressed": String(checked), "aria-label": "Segment is checked", title: "the whole segment is checked (key Shift+C)", text: "\u2713" });
  };
  // How many words of a segment are doubtful.
  const countDoubt = (segment) => {
    const known = counts.get(segment.id);
    if (!known) return;
    const count = segment.words.filter(Marks.isMarked).length, { shown } = known;
    if (known.count === count) return;
    known.count = count;
    shown.textContent = count || "";
    shown.title = count ? count + " of " + Texts.plural(segment.words.length, "word") + " doubtful" : "";
  };

  const startOf = (segment) => segment.words.length ? segment.words[0].start : segment.start ?? 0;
  const segmentContent = (segment) => {
    const start = startOf(segment), doubt = Dom.make("span", { class: "doubt" });
    counts.set(segment.id, { shown: doubt, count: 0 });
    return [
      Dom.make("div", { class: "side" }, Dom.make("a", { class: "at", href: "#" + segment.id, "data-start": start, text: Texts.clock(start) }), doubt, seal(segment)),
      Dom.make("p", { dir: "auto" }, ...speaker(segment), ...wordElements(segment), ...whole(segment), ...warnings(segment)),
    ];
  };
  const segmentElement = (segment) =>
    Dom.make("div", { class: "segment", id: segment.id, "data-segment": segment.id }, ...segmentContent(segment));

  const leftOutElement = (stretch) => Dom.make("div", { class: "segment gap" },
    Dom.make("span", { class: "at", "data-start": stretch.start, title: "until " + Texts.clock(stretch.end), text: Texts.clock(stretch.start) }),
    Dom.make("p", { dir: "auto", text: Math.max(0, stretch.end - stretch.start).toFixed(1) + " s left out: " + Texts.visible(stretch.reason) }));

  // What is out of sight is not laid out, block by block: one by one would cost more than it saves.
  const blocks = (list) => list.length <= inBlock ? list
    : Array.from({ length: Math.ceil(list.length / inBlock) }, (_, index) => Dom.make("div", { class: "block" }, ...list.slice(index * inBlock, (index + 1) * inBlock)));

  const recordingElement = (recording, leftOut, titled) => {
    const parts = recording.segments.filter((segment) => segment.words.length).map((segment) => [startOf(segment), segmentElement(segment)]);
    const gaps = leftOut.map((stretch) => [stretch.start, leftOutElement(stretch)]);
    const shown = gaps.length ? [...parts, ...gaps].sort((one, other) => one[0] - other[0]) : parts;
    return Dom.make("section", { class: "recording", "data-recording": recording.index },
      titled ? Dom.make("h2", { dir: "auto", text: Texts.shortName(recording.name) }) : null,
      recording.segments.length > 1 ? Strip.make(recording) : null,
      ...blocks(shown.map(([, element]) => element)),
      parts.length ? null : Dom.make("p", { class: "soft", text: "(no words)" }));
  };

  const show = () => {
    elements = new Map();
    counts = new Map();
    voices = new Map();
    const { recordings, data } = Transcript;
    const titled = new Set(recordings.map((recording) => recording.name)).size > 1;
    const shown = recordings.map((recording) => recordingElement(recording, recordings.length === 1 ? data.left_out ?? [] : [], titled));
    if (!shown.length) {
      shown.push(Dom.make("section", { class: "recording" }, Dom.make("p", { class: "soft", text: "(no words)" }), ...(data.left_out ?? []).map(leftOutElement)));
    }
    Dom.by("words").replaceChildren(...shown);
  };

  // Shows these segments again, after a change.
  const refresh = (ids) => ids.forEach((id) => {
    const segment = Transcript.segment(id), shown = Dom.by(id);
    if (!shown) return;
    shown.querySelectorAll(".w").forEach((element) => elements.delete(element.dataset.id));
    shown.replaceChildren(...segmentContent(segment));
  });

  const element = (wordId) => elements.get(wordId);
  const wordAt = (node) => {
    const shown = node && node.closest && node.closest("#words .w");
    return shown ? Transcript.word(shown.dataset.id) : undefined;
  };

  return { show, refresh, element, wordAt, level, isMadeUp, madeUpMark, alternativeText, surer, startOf, countDoubt };
})();

