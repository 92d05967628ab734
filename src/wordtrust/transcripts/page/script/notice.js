// Notice: a line at the foot of the window that says what was done, with buttons for what may follow.
const Notice = (() => {
  let closing = 0;
  const hide = () => { clearTimeout(closing); Dom.by("notice").hidden = true; };

  // `actions`: [{ label, key, act }]. It goes away by itself unless it `stays`.
  const show = (text, actions = [], { stays = false } = {}) => {
    const bar = Dom.by("notice");
    bar.replaceChildren(
      Dom.make("span", { text: Texts.visible(text) }),
      ...actions.map(({ label, key, act }) => Dom.make("button", { type: "button", "aria-keyshortcuts": key, onclick: () => { hide(); act(); } }, label, key ? " " : null, key ? Dom.make("kbd", { text: key }) : null)),
      Dom.make("button", { type: "button", class: "close", "aria-label": "Close", text: "×", onclick: hide }));
    bar.hidden = false;
    Dom.say(text);
    clearTimeout(closing);
    if (!stays) closing = setTimeout(hide, 12000);
  };

  return { show, hide };
})();

