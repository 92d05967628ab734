// KeptNotice: says which steps of an earlier page have no place any more, and when the browser does not keep steps.
const KeptNotice = (() => {
  let isTold = false;

  const list = () => {
    const shown = Dialogs.open("Corrections without a place", Dom.make("div", {},
      Dom.make("p", { text: "They were made on an earlier page of this recording. Nothing on this page is where they were made; they can be made by hand." }),
      Dom.make("ul", { class: "lost" }, ...Rebase.lost.map((step) => Dom.make("li", {}, Dom.make("b", { text: Texts.clock(step.start, true) }), " ",
        Dom.make("span", { dir: "auto", text: Texts.visible(step.name) + (step.said.length ? ": \u201c" + Texts.visible(step.said.join(" ")) + "\u201d" : "") + (step.with.length ? " \u2192 \u201c" + Texts.visible(step.with.join(" ")) + "\u201d" : "") })))),
      Dialogs.buttons({ label: "Keep the list", act: () => shown.close() }, { label: "Forget them", main: true, act: () => { Rebase.lost = []; KeptSteps.keepAll(); shown.close(); } })), { wide: true });
  };

  const tellLost = () => {
    if (Rebase.lost.length) Notice.show(Texts.plural(Rebase.lost.length, "earlier correction") + " could not be made again: this page has nothing where they were made.", [{ label: "List\u2026", act: list }], { stays: true });
  };
  const tellFailure = (_, failed) => {
    if (!failed || isTold || Transcript.data.save) return;
    isTold = true;
    Notice.show("This browser does not keep your corrections. Export them before you leave.", [{ label: "Export\u2026", key: "x", act: Exports.open }], { stays: true });
  };

  const start = () => {
    tellLost();
    KeptSteps.onKeep(tellFailure);
    addEventListener("beforeunload", (event) => { if (isTold && EditHistory.count) event.preventDefault(); });
  };
  return { start, list };
})();

