// Rebase: steps that were made on an earlier page of the same recording, made again by their times on this one. Its
// confidences may be others, and even its words. What has no place any more is listed in `lost`, not dropped.
const Rebase = (() => {
  const near = 0.3;  // seconds that a word may have moved
  let lost = [];

  const middle = (word) => (word.start + word.end) / 2;
  const sameTexts = (words, texts) => words.length === texts.length && words.every((word, index) => word.word === texts[index]);

  // Words of a recording whose middle is within a stretch of time: of one segment, or none.
  const wordsWithin = (utt, start, end) => {
    const found = Transcript.segments.filter((segment) => segment.utt === utt)
      .map((segment) => ({ segment, words: segment.words.filter((word) => middle(word) > start - 1e-6 && middle(word) < end + 1e-6) }))
      .filter(({ words }) => words.length);
    return found.length === 1 ? found[0] : null;
  };
  // The words that a change was about: those at its time, or the same words nearby.
  const placeOf = (change) => {
    const there = wordsWithin(change.utt, change.start, change.end);
    if (there && sameTexts(there.words, change.said)) return there;
    const around = wordsWithin(change.utt, change.start - near, change.end + near);
    if (around) {
      for (let at = 0; at + change.said.length <= around.words.length; at++) {
        const words = around.words.slice(at, at + change.said.length);
        if (sameTexts(words, change.said)) return { segment: around.segment, words };
      }
    }
    const fits = there && Math.abs(there.words[0].start - change.start) < near && Math.abs(there.words.at(-1).end - change.end) < near;
    return fits ? there : null;
  };
  // Where words were inserted and nothing was there.
  const gapOf = (change) => {
    const segments = Transcript.segments.filter((segment) => segment.utt === change.utt && segment.words.length);
    const segment = segments.find((each) => each.words[0].start - near <= change.start && each.words.at(-1).end + near >= change.end);
    return segment ? { segment, words: [], after: segment.words.findLast((word) => middle(word) <= change.start)?.id ?? null } : null;
  };

  // The same change on the words of this page, or null.
  const moved = (change) => {
    if (change.set) {
      const found = wordsWithin(change.utt, change.start, change.end)?.segment ?? nearest(change);
      return found ? { ...change, segment: found.id } : null;
    }
    const place = change.words.length ? placeOf(change) : gapOf(change);
    if (!place) return null;
    const { segment, words } = place;
    return {
      ...change, segment: segment.id, words: words.map((word) => word.id), said: words.map((word) => word.word),
      after: words.length ? null : place.after, with: change.with.map((word) => renewed(word, words)),
    };
  };
  // A word that was only moved in time is the word of this page.
  const renewed = (word, words) => {
    const now = word.checked || word.original ? null : words.find((each) => each.word === word.word && Math.abs(middle(each) - middle(word)) < near);
    return { ...word, ...(now ? { ...now, start: word.start, end: word.end } : {}), id: "r" + (made += 1) };
  };
  const nearest = (change) => Transcript.segments.filter((segment) => segment.utt === change.utt && segment.words.length)
    .find((segment) => Math.abs(segment.words[0].start - change.start) < 2 * near && Math.abs(segment.words.at(-1).end - change.end) < 2 * near);
  let made = 0;

  const restore = (kept) => {
    lost = [...(kept.lost ?? [])];
    const steps = [];
    kept.steps.slice(0, kept.count).forEach((step) => {
      const changes = [];
      step.changes.forEach((change) => {
        const again = moved(change);
        if (again) { Transcript.applied([again]); changes.push(again); }
        else lost.push({ name: step.name, start: change.start, end: change.end, said: change.said ?? [], with: change.set ? [String(change.set.speaker ?? "")] : change.with.map((word) => word.word) });
      });
      if (changes.length) steps.push({ ...step, changes });
    });
    Transcript.load(Transcript.data);  // from the start, so that every step can be taken back
    EditHistory.restore(steps, steps.length);
  };

  return { restore, moved, get lost() { return lost; }, set lost(value) { lost = value; } };
})();

