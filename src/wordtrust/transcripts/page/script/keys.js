// Keys: a list of what each key does.
const Keys = (() => {
  const list = [
    ["n, p", "next, previous doubtful word"], ["\u2190, \u2192", "word before, word after"], ["Shift+\u2190, Shift+\u2192", "choose several words"],
    ["1 to 9", "choose an alternative"], ["Enter", "type what was said"], ["i, Shift+I", "insert after, before"], ["Delete", "delete"],
    ["c", "mark as checked, or no longer"], ["Shift+C", "mark the whole segment"], ["e", "the same correction everywhere\u2026"],
    ["f", "find and replace\u2026"], ["s", "speakers\u2026"], ["x", "export\u2026"], ["u, Ctrl+Z", "undo"], ["Shift+U, Ctrl+Y", "redo"],
    ["Space", "play, pause"], ["Escape", "close"], ["?", "this list"],
  ];
  const add = (...entries) => list.push(...entries);
  const open = () => Dialogs.open("Keys", Dom.make("dl", { class: "keys" }, ...list.flatMap(([key, what]) => [Dom.make("dt", {}, Dom.make("kbd", { text: key })), Dom.make("dd", { text: what })])));
  return { open, add };
})();

