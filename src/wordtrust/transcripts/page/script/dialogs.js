// Dialogs: windows in front of the page; the Escape key closes them, and the reader is back where he was.
const Dialogs = (() => {
  const open = (title, content, { wide = false } = {}) => {
    const before = document.activeElement;
    const heading = Dom.make("h2", { id: "dialog-title", text: title });
    const close = Dom.make("button", { type: "button", class: "close", "aria-label": "Close", text: "×", onclick: () => shown.close() });
    const shown = Dom.make("dialog", { class: wide ? "wide-dialog" : "", "aria-labelledby": "dialog-title" }, Dom.make("div", { class: "top" }, heading, close), content);
    shown.addEventListener("close", () => { shown.remove(); if (before?.isConnected) before.focus({ preventScroll: true }); });
    shown.addEventListener("keydown", (event) => event.stopPropagation());  // keys of the page rest meanwhile
    document.body.append(shown);
    Card.hide();
    shown.showModal();
    return shown;
  };
  const buttons = (...list) => Dom.make("div", { class: "buttons" }, ...list.map(({ label, act, main, type = "button" }) =>
    Dom.make("button", { type, class: main ? "main" : "", text: label, onclick: act })));

  return { open, buttons };
})();

