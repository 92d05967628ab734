// Summary: what is known about all words, in three tiles.
const Summary = (() => {
  const expected = (words) => words.reduce((sum, word) => sum + 1 - word.confidence, 0);
  const gapsOf = (segment) => [...segment.words.map((word) => word.missing_before), segment.missing_end]
    .filter((gap) => gap !== undefined && gap !== null);

  const expectedGaps = (segments) => {
    const gaps = segments.flatMap(gapsOf), sum = gaps.reduce((total, gap) => total + gap, 0);
    if (!gaps.length) return "missing ones do not count";
    return sum >= 0.05 ? "besides, some are missing in " + Texts.rough(sum) + " places" : "none is missing";
  };

  const tile = (value, name, ...remark) =>
    Dom.make("div", { class: "tile" }, Dom.make("b", {}, value), Dom.make("span", { text: name }), Dom.make("span", { class: "soft" }, ...remark));

  const show = () => {
    const words = Transcript.words(), doubt = expected(words), most = Math.max(1, words.length);
    const marked = (id) => Dom.make("span", { id });
    Dom.by("tiles").replaceChildren(
      tile(Texts.count(words.length), words.length === 1 ? "word" : "words", "in " + Texts.plural(Transcript.segments.length, "segment")),
      tile(marked("share"), "doubtful", marked("marked"), " under ", marked("under")),
      Transcript.calibrated()
        ? tile(Texts.rough(doubt), "expected errors", (100 * doubt / most).toFixed(1) + "% of the words; " + expectedGaps(Transcript.segments))
        : tile("?", "expected errors", "these confidences are not calibrated: wordtrust calibrate --scores"),
    );
  };

  return { show, expected, expectedGaps, gapsOf };
})();

