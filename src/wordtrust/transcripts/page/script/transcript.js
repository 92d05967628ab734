// Transcript: recordings, their segments, and words that keep their ids through all edits.
// A change replaces words that follow each other by others, or sets something about a segment:
//   { segment, words: [ids], after: id or null, with: [words] }    `after` says where, if no word is replaced
//   { segment, set: { speaker, missing_end, ... } }
const Transcript = (() => {
  let data = null, segments = [], recordings = [], ids = new Map(), all = null;
  const listeners = { change: [] };

  const load = (given) => {
    data = given;
    all = null;
    ids = new Map();
    segments = given.records.map((record, index) => {
      const id = "s" + index;
      const words = record.words.map((word, position) => ({ ...word, id: id + "." + position }));
      const segment = { start: words[0]?.start, end: words.at(-1)?.end, ...record, id, index, words, base: [...words], baseGap: record.missing_end };
      words.forEach((word) => ids.set(word.id, segment));
      return segment;
    });
    recordings = [];
    for (const segment of segments) {
      const name = recordingOf(segment);
      if (!recordings.length || recordings.at(-1).name !== name) recordings.push({ index: recordings.length, name, segments: [] });
      segment.recording = recordings.length - 1;
      recordings.at(-1).segments.push(segment);
    }
    for (const recording of recordings) if (recording.segments.some((segment) => segment.channel)) recording.segments.sort((one, other) => (one.start ?? 0) - (other.start ?? 0));
  };

  // Channels of one recording are a dialogue: they follow each other as they were said.
  const recordingOf = ({ utt, channel }) => channel && utt.endsWith("-" + channel) ? utt.slice(0, -channel.length - 1) : utt;

  const words = () => all || (all = recordings.flatMap((recording) => recording.segments).flatMap((segment) => segment.words));
  const segment = (id) => segments[Number(String(id).slice(1))];
  const segmentOf = (wordId) => ids.get(wordId);
  const word = (id) => segmentOf(id)?.words.find((each) => each.id === id);
  const indexOf = (id) => segmentOf(id)?.words.findIndex((each) => each.id === id) ?? -1;
  const calibrated = () => data.about.calibrated !== false;

  // Makes a change and gives the one that takes it back.
  const apply = (change) => {
    const target = segment(change.segment);
    if (change.set) {
      const before = Object.fromEntries(Object.keys(change.set).map((name) => [name, target[name]]));
      Object.assign(target, change.set);
      return { segment: change.segment, set: before };
    }
    const at = change.words.length ? indexOf(change.words[0]) : change.after === null ? 0 : indexOf(change.after) + 1;
    const removed = target.words.splice(at, change.words.length, ...change.with);
    removed.forEach((each) => ids.delete(each.id));
    change.with.forEach((each) => ids.set(each.id, target));
    all = null;
    return {
      segment: change.segment, words: change.with.map((each) => each.id), with: removed,
      after: at ? target.words[at - 1].id : null,
    };
  };

  // Makes changes one by one, and gives those that take them back, in the order in which they do. Nobody is told.
  const applied = (changes) => changes.map(apply).reverse();
  const segmentsOf = (changes) => [...new Set(changes.map((each) => each.segment))];
  const change = (changes) => {
    const back = applied(changes);
    emit("change", { segments: segmentsOf(changes) });
    return back;
  };

  // Whether a person changed its words, or checked some.
  const isEdited = ({ words: now, base, missing_end: gap, baseGap }) =>
    gap !== baseGap || now.length !== base.length || now.some((each, position) => each !== base[position]);

  const on = (name, listener) => listeners[name].push(listener);
  const emit = (name, event) => listeners[name].forEach((listener) => listener(event));

  return {
    load, words, recordingOf, segment, segmentOf, word, indexOf, calibrated, change, applied, segmentsOf, isEdited, on, emit,
    get data() { return data; }, get segments() { return segments; }, get recordings() { return recordings; },
    get about() { return data.about; }, get limits() { return data.limits; },
  };
})();

