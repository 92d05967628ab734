// Random steps, and what is wrong after them: times out of order, a step that cannot be taken back or made again.
const randomEdits = (seed) => {
  const next = () => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed / 2147483648; };
  const pick = (list) => list[Math.floor(next() * list.length)];
  const records = [0, 1, 2].map((segment) => ({ utt: "talk", speaker: pick(["Ann", undefined]), words: [...Array(6)].map((_, k) => ({
    word: k === 3 && segment === 1 ? "" : pick(["cat", "Middle-", "42", "x"]), norm: "n" + k, start: segment * 10 + k * pick([0.2, 0.2, 0]), end: segment * 10 + k * 0.2 + pick([0, 0.2, 0.3]),
    confidence: next(), alternatives: [{ word: "hat", confidence: 0.1 }], ...(pick([true, false]) ? { missing_before: 0.1 } : {}), ...(pick([true, false, false]) ? { joins_next: true } : {}) })) }));
  records.forEach((record) => record.words.forEach((word, k, all) => { word.end = Math.max(word.start, word.end); if (k) { word.start = Math.max(word.start, all[k - 1].end); word.end = Math.max(word.end, word.start); } }));
  const data = { about: {}, records, limits: { low: 0.5, high: 0.9, missing: 0.25 }, left_out: [] };
  const state = () => JSON.stringify(Transcript.segments.map(({ words, speaker, missing_end }) => [words, speaker, missing_end]));
  Transcript.load(data);
  EditHistory.restore([], 0);
  const states = [state()], wrong = [];
  for (let step = 0; step < 25; step++) {
    const segment = pick(Transcript.segments), words = segment.words;
    if (!words.length) continue;
    const at = Math.floor(next() * words.length), to = Math.min(words.length - 1, at + Math.floor(next() * 3)), ids = [words[at].id, words[to].id];
    const text = pick(["a", "new words here", "Cat", "\u202e x", ""]);
    const changes = pick([() => Edits.replace(...ids, text), () => Edits.remove(...ids), () => Edits.insert(segment.id, pick([null, ids[0]]), text), () => Edits.check(...ids, { before: true, after: true }),
      () => Edits.checkSegment(segment.id), () => Edits.check(...ids, { checked: false }), () => [Edits.set(segment.id, { speaker: text })], () => Find.replacements(Find.matches("cat", { wholeWords: false }), "hats and")])();
    if (EditHistory.make("step " + step, changes)) states.push(state());
    for (const each of Transcript.segments) each.words.forEach((word, k, all) => {
      if (!(word.start >= 0 && word.end >= word.start) || (k && word.start < all[k - 1].end - 1e-9)) wrong.push([step, word, all[k - 1]]);
      if (Transcript.segmentOf(word.id) !== each || all.filter((other) => other.id === word.id).length > 1) wrong.push([step, "id", word.id]);
    });
  }
  const steps = JSON.parse(JSON.stringify(EditHistory.steps)), end = state();
  for (let k = states.length - 2; k >= 0; k--) { EditHistory.undo(); if (state() !== states[k]) wrong.push(["undo", k]); }
  for (let k = 1; k < states.length; k++) { EditHistory.redo(); if (state() !== states[k]) wrong.push(["redo", k]); }
  Transcript.load(data);
  EditHistory.restore(steps, steps.length);
  if (state() !== end) wrong.push(["replayed"]);
  return { wrong: wrong.slice(0, 3), steps: steps.length };
};
