// Evidence: what a person found in the words and gaps of a segment that are checked, and which are still open.
// A gap is heard with the words on both sides of it. Files keep both numbers as `review` of the segment.
const Evidence = (() => {
  const middle = (word) => (word.start + word.end) / 2;
  const doubt = (word) => Math.max(0, 1 - word.confidence);
  const isInserted = (word) => word.original?.word === "";
  const covers = (word, seconds) => word.original && !isInserted(word) && word.start <= seconds && seconds <= word.end;

  // The words that stand now for those that the page came with; undefined for deleted ones.
  const standing = ({ base, words }) => {
    const now = new Map(words.map((word) => [word.id, word]));
    return base.map((word) => now.get(word.id) ?? words.find((each) => covers(each, middle(word))));
  };

  // What became of each word that the page came with: "open", "right" or "wrong"; "known" where somebody had checked it before.
  const fates = (segment) => standing(segment).map((word, index) => {
    if (segment.base[index].checked) return "known";
    if (!word) return "wrong";  // deleted
    if (!word.checked) return "open";
    return word.original && word.original.word !== word.word ? "wrong" : "right";
  });

  // Errors that were expected in what is checked, and those that were found: wrong words, and gaps that lacked some.
  const of = (segment) => {
    const { base, words } = segment, found = fates(segment), times = base.map(middle);
    const inserted = words.filter((word) => word.checked && isInserted(word) && !base.includes(word)).map(middle);
    const review = { expected: segment.review?.expected ?? 0, found: segment.review?.found ?? 0 };
    const isDone = (index) => index < 0 || index >= base.length || found[index] !== "open";
    for (let index = 0; index <= base.length; index++) {
      if (index < base.length && (found[index] === "right" || found[index] === "wrong")) {
        review.expected += doubt(base[index]);
        review.found += found[index] === "wrong" ? 1 : 0;
      }
      const isNew = found[index - 1] !== "known" || found[index] !== "known";
      if (!base.length || !isNew || !isDone(index - 1) || !isDone(index)) continue;
      review.expected += (index < base.length ? base[index].missing_before : segment.baseGap) ?? 0;
      const after = times[index - 1] ?? -Infinity, before = times[index] ?? Infinity;
      if (inserted.some((time) => time > after && time <= before)) review.found += 1;
    }
    return review;
  };

  // Expected errors in what nobody has checked.
  const left = ({ words, missing_end: end }, wordsPerGap) =>
    words.reduce((sum, word) => sum + doubt(word) + wordsPerGap * (word.missing_before ?? 0), words.length ? wordsPerGap * (end ?? 0) : 0);

  // For files; nothing where nobody has checked anything.
  const record = (segment) => {
    const { expected, found } = of(segment), isTouched = segment.review || segment.words.some((word) => word.checked) || Transcript.isEdited(segment);
    return isTouched ? { review: { expected: Math.round(expected * 1e6) / 1e6, found } } : {};
  };

  return { of, left, record, fates, standing };
})();
