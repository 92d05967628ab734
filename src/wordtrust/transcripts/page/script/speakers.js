// Speakers: who says a segment, and the name of a speaker wherever he speaks.
const Speakers = (() => {
  const names = () => [...new Set(Transcript.segments.map((segment) => segment.speaker).filter(Boolean))];
  const clean = (text) => Edits.tokens(text).join(" ").slice(0, 300);
  const changes = (ids, name) => ids.filter((id) => (Transcript.segment(id).speaker ?? "") !== name).map((id) => Edits.set(id, { speaker: name || null }));
  const of = (name) => Transcript.segments.filter((segment) => (segment.speaker ?? "") === name && segment.words.length).map((segment) => segment.id);

  const make = (title, list) => {
    if (EditHistory.make(title, list)) Notice.show(title, [{ label: "Undo", key: "u", act: Editing.undo }]);
  };
  const rename = (old, name) => make("Speaker \u201c" + (old || "(nobody)") + "\u201d is \u201c" + name + "\u201d", changes(of(old), clean(name)));
  const setOne = (id, name) => make("Said by \u201c" + (name || "(nobody)") + "\u201d", changes([id], clean(name)));

  const field = (label, value, button, done) => {
    const input = Dom.make("input", { type: "text", value, "aria-label": label, list: "speaker-names", maxlength: 300, autocomplete: "off", dir: "auto" });
    return Dom.make("form", { class: "speaker-row", onsubmit: (event) => { event.preventDefault(); event.target.closest("dialog").close(); done(input.value); } },
      Dom.make("label", {}, Dom.make("span", { text: label }), input), Dom.make("button", { type: "submit", text: button }));
  };

  const open = (segmentId = Position.here && Transcript.segmentOf(Position.here)?.id) => {
    const segment = segmentId && Transcript.segment(segmentId), known = names();
    const unnamed = of("").length ? [""] : [];
    Dialogs.open("Speakers", Dom.make("div", { class: "speakers" },
      Dom.make("datalist", { id: "speaker-names" }, ...known.map((name) => Dom.make("option", { value: name }))),
      segment ? Dom.make("h3", { text: "This segment (" + Texts.clock(WordsView.startOf(segment)) + ")" }) : null,
      segment ? field("Said by", segment.speaker ?? "", "Set", (name) => setOne(segment.id, clean(name))) : null,
      Dom.make("h3", { text: "Everywhere" }),
      ...[...known, ...unnamed].map((name) => field((name ? Texts.shortName(name) : "Nobody is named") + " (" + Texts.plural(of(name).length, "segment") + ")", name, "Rename", (now) => rename(name, clean(now))))));
  };

  return { open, names, rename, setOne, changes, of };
})();

