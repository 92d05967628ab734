// Editing: what a person does to words, by key, card or tool bar; each is a step that can be taken back.
const Editing = (() => {
  const quoted = (text) => "\u201c" + Texts.visible(text.length > 60 ? text.slice(0, 60) + "\u2026" : text) + "\u201d";
  const textOf = (from, to) => Edits.written(wordsOf(from, to));
  const wordsOf = (from, to) => {
    const segment = Transcript.segmentOf(from), [first, last] = Edits.range(segment, from, to);
    return segment.words.slice(first, last + 1);
  };

  // Makes a step, says so, and leads to what it made.
  const make = (name, changes, { go, more = [] } = {}) => {
    if (!EditHistory.make(name, changes)) return Position.focus();
    const made = changes.flatMap((change) => change.with ?? []), target = go ?? made.findLast((word) => word.id.startsWith("e" + EditHistory.count + "."))?.id;
    Position.go(target && Transcript.word(target) ? target : Position.here, { card: false });
    Card.hide();
    Notice.show(name, [{ label: "Undo", key: "u", act: undo }, ...more]);
  };

  // What may follow a correction: the same one wherever the same words are.
  let latest = null;
  const correct = (from, to, text) => {
    const old = textOf(from, to), changes = Edits.replace(from, to, text), now = Edits.tokens(text).join(" ");
    if (!now) return remove(from, to);
    if (old === now) return check(from, to, true);
    latest = Find.correction(old, now);
    const others = latest ? Find.matches(latest.query, latest).filter((match) => match.from !== from).length : 0;
    const more = others ? [{ label: Texts.count(others) + " more " + quoted(latest.query) + "\u2026", key: "e", act: everywhere }] : [];
    make("Correct " + quoted(old) + " to " + quoted(now), changes, { more });
  };
  const everywhere = () => { if (latest) Find.open(latest); else Find.open(); };

  const choose = (id, index) => {
    const word = Transcript.word(id), other = word?.alternatives[index];
    if (!other) return;
    if (other.word) correct(id, id, keepEnds(word.word || word.norm, other.word)); else remove(id, id);
  };
  // Signs around a word stay when another is chosen.
  const keepEnds = (old, text) => {
    const [, before, , after] = /^([^\p{L}\p{N}]*)(.*?)([^\p{L}\p{N}]*)$/su.exec(old);
    return /^[^\p{L}\p{N}]|[^\p{L}\p{N}]$/u.test(text) ? text : before + text + after;
  };

  const type = (from, to) => Card.ask("What was said", textOf(from, to), WordsView.element(to), (text) => correct(from, to, text));
  const insertAt = (segment, after, element) => Card.ask(after ? "Insert after " + quoted(textOf(after, after)) : "Insert before " + quoted(textOf(segment.words[0].id, segment.words[0].id)), "", element, (text) => {
    const changes = Edits.insert(segment.id, after, text);
    if (changes.length) make("Insert " + quoted(Edits.tokens(text).join(" ")), changes); else Position.focus();
  });
  const insert = (id) => insertAt(Transcript.segmentOf(id), id, WordsView.element(id));
  const insertBefore = (id) => {
    const { words } = Transcript.segmentOf(id), at = Transcript.indexOf(id);
    insertAt(Transcript.segmentOf(id), at ? words[at - 1].id : null, WordsView.element(id));
  };
  const remove = (from, to) => make("Delete " + quoted(textOf(from, to)), Edits.remove(from, to));

  // Checked, or no longer; `always` never takes it back.
  const check = (from, to, always = false) => {
    const checked = always || !wordsOf(from, to).every((word) => word.checked);
    make((checked ? "Checked: " : "No longer checked: ") + quoted(textOf(from, to)), Edits.check(from, to, { checked }), { go: to });
  };
  const checkSegment = (id) => {
    const { words } = Transcript.segment(id), checked = !words.every((word) => word.checked);
    if (words.length) make((checked ? "Checked: " : "No longer checked: ") + quoted(Edits.written(words)), Edits.checkSegment(id, { checked }), { go: words.find((word) => word.id === Position.here)?.id ?? words[0].id });
  };

  const after = (step, name) => {
    if (!step) return;
    Notice.show(name + ": " + step.name, [{ label: name === "Undone" ? "Redo" : "Undo", key: name === "Undone" ? "Shift+U" : "u", act: name === "Undone" ? redo : undo }]);
    const segment = Transcript.segment(step.changes[0].segment), start = step.changes[0].start;
    const word = segment.words.findLast((each) => each.start <= start + 1e-6) ?? segment.words[0];
    if (word) Position.go(word.id, { card: false });
  };
  const undo = () => after(EditHistory.undo(), "Undone");
  const redo = () => after(EditHistory.redo(), "Done again");

  const onKey = (event) => {
    if (event.defaultPrevented || event.altKey || Dom.isTyping(event.target)) return;
    const words = Position.chosen(), [from, to] = [words[0]?.id, words.at(-1)?.id], key = event.key;
    const withControl = { z: event.shiftKey ? redo : undo, y: redo };
    const anywhere = { u: undo, U: redo, f: () => Find.open(), e: everywhere, s: () => Speakers.open(), x: () => Exports.open(), "?": () => Keys.open() };
    const onButton = Boolean(event.target.closest("button, a, summary, input")) && key === "Enter";
    const atWords = words.length && !onButton && {
      Enter: () => type(from, to), Insert: () => insert(to), i: () => insert(to), I: () => insertBefore(from),
      Delete: () => remove(from, to), Backspace: () => remove(from, to), c: () => check(from, to), C: () => checkSegment(Transcript.segmentOf(from).id),
    };
    const digit = words.length === 1 && /^[1-9]$/.test(key) && words[0].alternatives[Number(key) - 1] && (() => choose(from, Number(key) - 1));
    const act = event.ctrlKey || event.metaKey ? withControl[key.toLowerCase()] : digit || anywhere[key] || (atWords && atWords[key]);
    if (!act) return;
    event.preventDefault();
    act();
  };

  const tell = () => {
    Dom.by("undo").disabled = !EditHistory.canUndo;
    Dom.by("redo").disabled = !EditHistory.canRedo;
  };

  const start = () => {
    document.addEventListener("keydown", onKey);
    for (const [id, act] of Object.entries({ undo, redo, find: () => Find.open(), speakers: () => Speakers.open(), export: () => Exports.open(), keys: () => Keys.open() })) Dom.by(id).addEventListener("click", act);
    Dom.by("words").addEventListener("click", (event) => {
      const gap = event.target.closest(".missing")?.dataset;
      if (gap) { if (gap.before) insertBefore(gap.before); else if (gap.after) insert(gap.after); return; }
      const seal = event.target.closest(".seal"), speaker = event.target.closest(".speaker");
      if (seal) checkSegment(seal.closest(".segment").id);
      else if (speaker) Speakers.open(speaker.closest(".segment").id);
    });
    EditHistory.on(tell);
    tell();
  };

  return { start, choose, type, insert, insertBefore, remove, check, checkSegment, correct, undo, redo, everywhere };
})();

