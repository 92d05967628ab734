// Card: how sure a word is, and what else it may be.
const Card = (() => {
  let shown = null, closing = 0;

  const row = (tag, text, share) => {
    const filled = Dom.make("div", {});
    filled.style.width = 100 * Math.min(1, share) + "%";
    return Dom.make("div", { class: "row" }, Dom.make(tag, { text }), Dom.make("div", { class: "gauge" }, filled), Dom.make("span", { text: Texts.percent(share) }));
  };
  const why = (text) => text ? [Dom.make("div", { class: "why", text })] : [];

  const content = (word, written) => {
    const others = word.alternatives.map((other) => row("span", WordsView.alternativeText(word, other), other.confidence));
    const surer = WordsView.surer(word);
    return [
      row("b", written, word.confidence),
      Dom.make("div", { class: "facts", text: Texts.clock(word.start, true) + " to " + Texts.clock(word.end, true) }),
      ...(others.length ? [Dom.make("div", { class: "or", text: WordsView.isMadeUp(word) ? "listeners heard" : "or it may be" }), ...others] : []),
      ...why(WordsView.madeUpMark(word)),
      ...why(surer ? "\u201c" + Texts.visible(surer.word) + "\u201d is surer by itself, but not in the sequence: words are chosen together." : ""),
    ];
  };

  const place = (element) => {
    const card = Dom.by("card"), box = element.getBoundingClientRect(), room = document.documentElement.clientWidth - card.offsetWidth - 10;
    const below = box.bottom + card.offsetHeight + 12 < innerHeight;
    card.style.left = Math.max(10, Math.min(box.left, room)) + scrollX + "px";
    card.style.top = (below ? box.bottom + 6 : box.top - card.offsetHeight - 6) + scrollY + "px";
  };

  const show = (word) => {
    clearTimeout(closing);
    if (word.id === shown) return;
    const card = Dom.by("card"), element = WordsView.element(word.id);
    shown = word.id;
    card.replaceChildren(...content(word, element.textContent));
    card.hidden = false;
    place(element);
  };
  const hide = () => { clearTimeout(closing); Dom.by("card").hidden = true; shown = null; };
  const later = () => { clearTimeout(closing); closing = setTimeout(hide, 200); };

  // The same in words.
  const told = (word) => {
    const others = word.alternatives.map((other) => WordsView.alternativeText(word, other) + " " + Texts.percent(other.confidence)).join(", ");
    const surer = WordsView.surer(word), mark = WordsView.madeUpMark(word);
    return WordsView.element(word.id).textContent + ", " + Texts.percent(word.confidence)
      + (others ? (WordsView.isMadeUp(word) ? "; heard " : "; or ") + others : "") + (mark ? "; " + mark : "")
      + (surer ? "; " + Texts.visible(surer.word) + " is surer by itself, but not in the sequence" : "");
  };

  const start = () => {
    const card = Dom.by("card");
    document.addEventListener("pointerover", (event) => {
      if (event.pointerType === "touch") return;
      const word = WordsView.wordAt(event.target);
      if (word) show(word);
      else if (card.contains(event.target)) clearTimeout(closing);
      else if (shown) later();
    });
    document.addEventListener("focusin", (event) => {
      const word = WordsView.wordAt(event.target);
      if (word) show(word); else if (!card.contains(event.target)) hide();
    });
    document.addEventListener("click", (event) => {
      if (!WordsView.wordAt(event.target) && !card.contains(event.target) && !event.target.closest(".tools, .strip")) hide();
    });
  };

  return { start, show, hide, told };
})();

