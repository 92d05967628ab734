// Position: the word that the reader is at.
const Position = (() => {
  let here = null, reached = null;

  const stop = (element) => {  // the tab key stops at one word; the arrow keys lead to the others
    if (reached) reached.tabIndex = -1;
    reached = element;
    if (element) element.tabIndex = 0;
  };
  const tell = () => {
    const [place, count] = here ? Marks.placeOf(here) : [0, 0];
    Dom.by("place").textContent = place ? Texts.count(place) + " of " + Texts.count(count) : "";
  };

  const go = (id, { speak = false } = {}) => {
    const word = Transcript.word(id), element = WordsView.element(id);
    if (!word) return;
    WordsView.element(here)?.classList.remove("here");
    here = id;
    element.classList.add("here");
    stop(element);
    element.focus({ preventScroll: true });
    const box = element.getBoundingClientRect();
    if (box.top < 130 || box.bottom > innerHeight - 180) scrollBy({ top: box.top - innerHeight / 3, behavior: "instant" });
    Card.show(word);
    tell();
    if (speak) Dom.say(Card.told(word));
  };

  // The next (1) or the previous (-1) doubtful word.
  const seek = (step) => {
    const word = Marks.next(here, step);
    if (word) go(word.id, { speak: true });
  };
  // The word so many words on.
  const move = (id, step) => {
    const words = Transcript.words(), at = words.findIndex((word) => word.id === id);
    go(words[Math.max(0, Math.min(words.length - 1, at + step))].id, { speak: true });
  };

  // After a change: the marks of the word that the reader is at are shown again.
  const refresh = () => {
    const element = here && WordsView.element(here);
    if (element) { element.classList.add("here"); stop(element); }
    else if (!reached || !reached.isConnected) stop(WordsView.element(Transcript.words()[0]?.id));
    tell();
  };

  const onKey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.key === "Escape") return Card.hide();
    if (Dom.isTyping(event.target)) return;
    const word = WordsView.wordAt(event.target);
    const anywhere = { n: () => seek(1), p: () => seek(-1) }[event.key.toLowerCase()];
    const atWord = word && {
      ArrowRight: () => move(word.id, 1), ArrowLeft: () => move(word.id, -1),
      Enter: () => Player.playWord(word), " ": () => Player.toggle(word),
    }[event.key];
    if (!anywhere && !atWord) return;
    event.preventDefault();
    (anywhere || atWord)();
  };

  const start = () => {
    Dom.by("next").addEventListener("click", () => seek(1));
    Dom.by("prev").addEventListener("click", () => seek(-1));
    document.addEventListener("keydown", onKey);
    document.addEventListener("click", (event) => {
      const word = WordsView.wordAt(event.target);
      if (word && getSelection().isCollapsed) { go(word.id); Player.playWord(word); }
    });
    refresh();
  };

  return { start, go, seek, move, refresh, tell, get here() { return here; } };
})();

