// Position: the word that the reader is at, or the stretch of words from where he began to it.
const Position = (() => {
  let here = null, anchor = null, reached = null, last = null, marked = [];  // ids; the element that the tab key stops at; where `here` was; elements

  const stop = (element) => {  // the tab key stops at one word; the arrow keys lead to the others
    if (reached && reached !== element) reached.removeAttribute("tabindex");
    reached = element;
    if (element) element.tabIndex = 0;
  };
  const tell = () => {
    const [place, count] = here ? Marks.placeOf(here) : [0, 0];
    Dom.by("place").textContent = place ? Texts.count(place) + " of " + Texts.count(count) : "";
  };

  // The words of the stretch that is chosen, or the one word; [] at the start.
  const chosen = () => {
    const segment = here && Transcript.segmentOf(here);
    if (!segment) return [];
    const [first, end] = Edits.range(segment, anchor && Transcript.segmentOf(anchor) === segment ? anchor : here, here);
    return segment.words.slice(first, end + 1);
  };
  const isChosen = (id) => chosen().length > 1 && chosen().some((word) => word.id === id);
  const mark = () => {
    marked.forEach((element) => element.classList.remove("here", "chosen"));
    marked = chosen().map((word) => WordsView.element(word.id)).filter(Boolean);
    WordsView.element(here)?.classList.add("here");
    if (marked.length > 1) marked.forEach((element) => element.classList.add("chosen"));
  };

  // Goes to a word; with `extend` the stretch grows, or shrinks, to it.
  const go = (id, { speak = false, extend = false, card = true } = {}) => {
    const word = Transcript.word(id), element = WordsView.element(id);
    if (!word) return;
    anchor = extend && here && Transcript.segmentOf(here) === Transcript.segmentOf(id) ? anchor ?? here : null;
    here = id;
    last = { segment: Transcript.segmentOf(id).id, index: Transcript.indexOf(id) };
    mark();
    stop(element);
    element.focus({ preventScroll: true });
    Dom.reveal(element);
    if (card) Card.pin(...chosen());
    tell();
    if (speak) Dom.say(anchor ? Edits.written(chosen()) : Card.told(word));
  };
  // From one word to another of a segment.
  const choose = (from, to) => { here = from; anchor = from; go(to, { extend: true }); };
  const focus = () => WordsView.element(here)?.focus({ preventScroll: true });

  // The next (1) or the previous (-1) doubtful word.
  const seek = (step) => {
    const word = Marks.next(here, step);
    if (!word) return;
    go(word.id, { speak: true });
    Player.playDoubtful(word);
  };
  // The word so many words on.
  const move = (id, step, extend = false) => {
    const words = extend ? Transcript.segmentOf(id).words : Transcript.words(), at = words.findIndex((word) => word.id === id);
    go(words[Math.max(0, Math.min(words.length - 1, at + step))].id, { speak: true, extend });
  };

  // After a change: where the reader is, is shown again; a word that is gone leaves him at the next one.
  const refresh = () => {
    Card.renew();
    if (here && !Transcript.word(here)) {
      const { words } = Transcript.segment(last.segment);
      here = words[Math.min(last.index, words.length - 1)]?.id ?? null;
    }
    if (anchor && !Transcript.word(anchor)) anchor = null;
    mark();
    stop(WordsView.element(here ?? Transcript.words()[0]?.id) ?? null);
    tell();
  };

  const onKey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.key === "Escape") { anchor = null; mark(); return Card.hide(); }
    if (Dom.isTyping(event.target)) return;
    const word = WordsView.wordAt(event.target);
    const anywhere = { n: () => seek(1), p: () => seek(-1) }[event.key];
    const atWord = word && {
      ArrowRight: () => move(word.id, 1, event.shiftKey), ArrowLeft: () => move(word.id, -1, event.shiftKey), " ": () => Player.toggle(word),
    }[event.key];
    if (!anywhere && !atWord) return;
    event.preventDefault();
    (anywhere || atWord)();
  };

  // Words that are chosen with the mouse: from the one where its button went down to the one where it is.
  let pressed = null, dragged = false;
  const onDrag = (event) => {
    const word = event.pointerType === "mouse" && (event.buttons & 1) && pressed && WordsView.wordAt(event.target);
    if (!word || (word.id === pressed && !dragged) || Transcript.segmentOf(word.id) !== Transcript.segmentOf(pressed)) return;
    dragged = true;
    getSelection().removeAllRanges();
    anchor = here = pressed;
    go(word.id, { extend: true, card: false });
  };
  const onRelease = () => setTimeout(() => {  // after the click
    if (dragged && chosen().length) { getSelection().removeAllRanges(); Card.pin(...chosen()); }
    pressed = null;
    dragged = false;
  });

  const start = () => {
    Dom.by("next").addEventListener("click", () => seek(1));
    Dom.by("prev").addEventListener("click", () => seek(-1));
    document.addEventListener("keydown", onKey);
    Dom.by("words").addEventListener("pointerdown", (event) => { pressed = event.button === 0 ? WordsView.wordAt(event.target)?.id ?? null : null; });
    Dom.by("words").addEventListener("pointerover", onDrag);
    document.addEventListener("pointerup", onRelease);
    document.addEventListener("click", (event) => {
      const word = WordsView.wordAt(event.target);
      if (!word || !getSelection().isCollapsed || dragged) return;
      go(word.id, { extend: event.shiftKey });
      if (!event.shiftKey) Player.playWord(word);
    });
    refresh();
  };

  return { start, go, choose, chosen, isChosen, seek, move, focus, refresh, tell, get here() { return here; } };
})();

