// Card: how sure a word is, what else it may be, and what can be done with it: choose, type, insert, delete, check.
const Card = (() => {
  let shown = null, waiting = 0, form = null, pinned = false, pointer = [-1, -1];  // ids of words, a timer, the open form, ...

  const row = (tag, text, share, attributes = {}) => {
    const filled = Dom.make("div", {});
    filled.style.width = 100 * Math.min(1, share) + "%";
    return Dom.make(tag, { class: "row", ...attributes }, text, Dom.make("div", { class: "gauge" }, filled), Dom.make("span", { text: Texts.percent(share) }));
  };
  const alternative = (word, other, index) => row("button",
    Dom.make("span", {}, index < 9 ? Dom.make("kbd", { text: index + 1 }) : null, " ", Dom.make("bdi", { text: WordsView.alternativeText(word, other) })),
    other.confidence, { type: "button", "aria-keyshortcuts": index < 9 ? index + 1 : null, onclick: () => Editing.choose(word.id, index) });
  const why = (text) => text ? [Dom.make("div", { class: "why", text })] : [];

  const state = (word) => {
    const was = word.original;
    return [
      ...why(was ? (was.word ? "was \u201c" + Texts.visible(was.word) + "\u201d" + (was.confidence === null ? "" : " (" + Texts.percent(was.confidence) + ")") : "inserted") : ""),
      ...why(word.checked ? "checked" : ""),
    ];
  };
  const about = (word) => {
    const surer = word.checked || word.original ? null : WordsView.surer(word);
    return [
      row("div", Dom.make("b", { text: WordsView.element(word.id).textContent }), word.confidence),
      Dom.make("div", { class: "facts", text: Texts.clock(word.start, true) + " to " + Texts.clock(word.end, true) }),
      ...state(word),
      ...(word.alternatives.length ? [Dom.make("div", { class: "or", text: WordsView.isMadeUp(word) ? "listeners heard" : "or it may be" })] : []),
      ...word.alternatives.map((other, index) => alternative(word, other, index)),
      ...why(WordsView.madeUpMark(word)),
      ...why(surer ? "\u201c" + Texts.visible(surer.word) + "\u201d is surer by itself, but not in the sequence: words are chosen together." : ""),
    ];
  };
  const aboutStretch = (words) => [
    Dom.make("div", { class: "stretch" }, Dom.make("b", { text: Texts.visible(Edits.written(words)) })),
    Dom.make("div", { class: "facts", text: Texts.plural(words.length, "word") + ", " + Texts.clock(words[0].start, true) + " to " + Texts.clock(words.at(-1).end, true) }),
  ];

  const action = (label, key, act, pressed) => Dom.make("button", { type: "button", "aria-keyshortcuts": key, "aria-pressed": pressed, title: "key " + key, onclick: act, text: label });
  const actions = (words) => {
    const from = words[0].id, to = words.at(-1).id, isFirst = Transcript.indexOf(from) === 0, checked = words.every((word) => word.checked);
    return Dom.make("div", { class: "actions", role: "group", "aria-label": "What to do with it" },
      action("\u2713 Checked", "c", () => Editing.check(from, to), checked ? "true" : "false"), action("Edit\u2026", "Enter", () => Editing.type(from, to)),
      action("Insert\u2026", "i", () => Editing.insert(to)), isFirst ? action("Insert before\u2026", "Shift+I", () => Editing.insertBefore(from)) : null,
      action("Delete", "Delete", () => Editing.remove(from, to)));
  };

  const place = (element) => {
    const card = Dom.by("card"), box = element.getBoundingClientRect(), room = document.documentElement.clientWidth - card.offsetWidth - 10;
    const [top, bottom] = Dom.room(), below = box.bottom + card.offsetHeight + 8 <= bottom || box.top - card.offsetHeight - 8 < top;
    card.style.left = Math.max(10, Math.min(box.left, room)) + scrollX + "px";
    card.style.top = (below ? box.bottom + 6 : box.top - card.offsetHeight - 6) + scrollY + "px";
  };
  const open = (content, element) => {
    const card = Dom.by("card");
    card.replaceChildren(...content);
    card.hidden = false;
    place(element);
  };

  // The card of a word, or of a stretch of words.
  const show = (...words) => {
    clearTimeout(waiting);
    const key = words.map((word) => word.id).join(" ");
    if (key === shown && !form) return;
    shown = key;
    form = null;
    open([...(words.length > 1 ? aboutStretch(words) : about(words[0])), actions(words)], WordsView.element(words.at(-1).id));
  };
  const hide = () => { clearTimeout(waiting); Dom.by("card").hidden = true; shown = form = null; pinned = false; };
  // The same, until it is closed.
  const pin = (...words) => { show(...words); pinned = true; };
  const soon = (act) => { clearTimeout(waiting); waiting = setTimeout(act, 200); };
  // What is shown may be old.
  const renew = () => { shown = null; form = null; };

  // A box to type in; `done` is given the text.
  const ask = (label, text, element, done) => {
    const input = Dom.make("input", { type: "text", value: text, maxlength: 2000, "aria-label": label, autocomplete: "off", spellcheck: "true", dir: "auto" });
    const finish = (accept) => {
      const typed = input.value;
      hide();
      if (accept) done(typed); else Position.focus();
    };
    form = Dom.make("form", { onsubmit: (event) => { event.preventDefault(); finish(true); } },
      Dom.make("label", {}, label, input),
      Dom.make("div", { class: "actions" }, Dom.make("button", { type: "submit", class: "main", text: "OK" }), Dom.make("button", { type: "button", text: "Cancel", onclick: () => finish(false) })));
    form.addEventListener("keydown", (event) => { event.stopPropagation(); if (event.key === "Escape") finish(false); });
    shown = null;
    open([form], element);
    input.focus({ preventScroll: true });
    input.select();
  };

  // The same in words.
  const told = (word) => {
    const others = word.alternatives.map((other) => WordsView.alternativeText(word, other) + " " + Texts.percent(other.confidence)).join(", ");
    const surer = WordsView.surer(word), mark = WordsView.madeUpMark(word);
    return WordsView.element(word.id).textContent + ", " + (word.checked ? "checked" : Texts.percent(word.confidence))
      + (others ? (WordsView.isMadeUp(word) ? "; heard " : "; or ") + others : "") + (mark ? "; " + mark : "")
      + (surer ? "; " + Texts.visible(surer.word) + " is surer by itself, but not in the sequence" : "");
  };

  // The card of the word that the mouse is over; one that was asked for stays until it moves to another word.
  const onPointer = (event) => {
    const isMoved = event.clientX !== pointer[0] || event.clientY !== pointer[1];  // else the page was scrolled below it
    if (event.pointerType === "touch" || form || !isMoved || event.buttons) return;
    const word = WordsView.wordAt(event.target);
    if (Dom.by("card").contains(event.target) || (word && Position.isChosen(word.id))) clearTimeout(waiting);
    else if (word && shown) soon(() => { if (Transcript.word(word.id)) { pinned = false; show(word); } });  // on the way to the card?
    else if (word) show(word);
    else if (shown && !pinned) soon(hide);
    else clearTimeout(waiting);
  };

  const start = () => {
    const card = Dom.by("card");
    document.addEventListener("pointerover", onPointer);
    document.addEventListener("pointermove", (event) => { pointer = [event.clientX, event.clientY]; });
    document.addEventListener("focusin", (event) => {
      if (!form && !WordsView.wordAt(event.target) && !card.contains(event.target)) hide();
    });
    document.addEventListener("click", (event) => {
      if (!WordsView.wordAt(event.target) && !card.contains(event.target) && event.target.isConnected && !event.target.closest(".tools, .strip, .missing, #notice, dialog") && getSelection().isCollapsed) hide();
    });
  };

  return { start, show, pin, hide, renew, ask, told };
})();

