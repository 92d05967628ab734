// Marks: which words are doubtful. The slider says under which confidence.
const Marks = (() => {
  let under = 0.9, doubtful = [], shown = new Set(), order = new Map(), ordered = null;
  const isMarked = (word) => 100 * word.confidence < 100 * under - 1e-9;

  const update = () => {
    const words = Transcript.words();
    doubtful = words.filter(isMarked);
    if (ordered !== words) { order = new Map(words.map((word, index) => [word.id, index])); ordered = words; }
    const marked = new Set(doubtful.map((word) => word.id));  // 20,000 words: only those that change are touched
    for (const id of shown) if (!marked.has(id)) WordsView.element(id)?.classList.remove("on");
    for (const id of marked) if (!shown.has(id)) WordsView.element(id)?.classList.add("on");
    shown = marked;
    Transcript.segments.forEach(WordsView.countDoubt);
    Dom.by("limit-shown").textContent = Dom.by("under").textContent = Texts.percent(under);
    Dom.by("marked").textContent = Texts.count(doubtful.length);
    Dom.by("share").textContent = Math.round(100 * doubtful.length / Math.max(1, words.length)) + "%";
    Dom.by("prev").disabled = Dom.by("next").disabled = !doubtful.length;
  };

  const set = (percent) => { under = percent / 100; };
  // The doubtful word after (1) or before (-1) a word; around the ends.
  const next = (id, step) => {
    const here = order.get(id) ?? -1;
    const found = step > 0 ? doubtful.find((word) => order.get(word.id) > here) : doubtful.findLast((word) => order.get(word.id) < here);
    return found ?? doubtful.at(step > 0 ? 0 : -1);
  };

  // Which of the doubtful words this is: [3, 12].
  const placeOf = (id) => [doubtful.findIndex((word) => word.id === id) + 1, doubtful.length];

  const start = () => {
    const limit = Dom.by("limit");
    set(Number(limit.value));
    Dom.by("marks").addEventListener("change", (event) => document.body.classList.toggle("unmarked", !event.target.checked));
    limit.addEventListener("input", () => { set(Number(limit.value)); update(); Position.tell(); });
  };

  return { start, set, update, isMarked, next, placeOf };
})();

