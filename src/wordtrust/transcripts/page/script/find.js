// Find: words and phrases, listed with what is around them, and other words for those that are ticked.
const Find = (() => {
  const most = 1000, around = 5;  // matches that are listed, words around them
  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\\/-]/g, "\\$&").replace(/ +/g, "\\s+");

  // What is written in a segment, and where each word is in it.
  const textOf = (segment) => {
    let text = "";
    const ends = Texts.spelled(segment.words).map(([written, space]) => {
      const from = text.length;
      text += written + space;
      return [from, from + written.length];
    });
    return { text, ends };
  };

  const pattern = (query, { wholeWords = true, matchCase = false }) => {
    const plain = Edits.tokens(query).join(" ");
    if (!plain) return null;
    const inside = "[\\p{L}\\p{N}]", edge = (before) => wholeWords ? (before ? "(?<!" + inside + "|" + inside + "['\u2019])" : "(?!['\u2019]?" + inside + ")") : "";
    const begins = /^[\p{L}\p{N}]/u.test(plain), ends = /[\p{L}\p{N}]$/u.test(plain);
    return new RegExp((begins ? edge(true) : "") + escaped(plain) + (ends ? edge(false) : ""), "gu" + (matchCase ? "" : "i"));
  };

  // Where the words are: { segment, from, to, at: [from, to] in its text, start }.
  const matches = (query, options = {}) => {
    const sought = pattern(query, options);
    if (!sought) return [];
    return Transcript.segments.flatMap((segment) => {
      const { text, ends } = textOf(segment);
      return [...text.matchAll(sought)].flatMap((found) => {
        const at = [found.index, found.index + found[0].length];
        const first = ends.findIndex(([, end]) => end > at[0]), last = ends.findLastIndex(([begin]) => begin < at[1]);
        if (first < 0 || last < first) return [];
        return [{ segment: segment.id, from: segment.words[first].id, to: segment.words[last].id, at, first, last, text: found[0], start: segment.words[first].start }];
      });
    });
  };

  // Written as the words that it stands for: `Cat` becomes `Hat`, unless somebody typed capitals.
  const inCaseOf = (old, replacement) => {
    if (replacement !== replacement.toLowerCase() || !/\p{Lu}/u.test(old)) return replacement;
    if (old === old.toUpperCase() && /\p{L}.*\p{L}/u.test(old)) return replacement.toUpperCase();
    return /^\P{L}*\p{Lu}/u.test(old) ? replacement.replace(/\p{L}/u, (letter) => letter.toUpperCase()) : replacement;
  };

  // Changes for matches, one after the other: those that share a word are one.
  const replacements = (list, replacement, { matchCase = false, checked = false } = {}) => {
    const id = Edits.idMaker(), runs = [];
    for (const match of list) {
      const last = runs.at(-1);
      if (last && last.segment === match.segment && last.last >= match.first) { last.last = Math.max(last.last, match.last); last.to = match.to; last.parts.push(match); }
      else runs.push({ ...match, parts: [match] });
    }
    return runs.map((run) => () => {
      if (!Transcript.word(run.from) || !Transcript.word(run.to)) return [];
      return Edits.replace(run.from, run.to, replaced(run, replacement, matchCase), { checked, id });
    });
  };
  const replaced = (run, replacement, matchCase) => {
    const { text, ends } = textOf(Transcript.segment(run.segment)), first = Transcript.indexOf(run.from), last = Transcript.indexOf(run.to);
    const moved = ends[first][0] - run.parts[0].offset;
    let made = "", at = ends[first][0];
    for (const part of run.parts) {
      made += text.slice(at, part.at[0] + moved) + (matchCase ? replacement : inCaseOf(part.text, replacement));
      at = part.at[1] + moved;
    }
    return made + text.slice(at, Math.max(at, ends[last][1]));
  };

  // What to look for after a correction: both without the signs around them, where they are the same.
  const correction = (old, now) => {
    const bare = (text) => text.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");
    const query = bare(old), replacement = bare(now);
    return query && replacement && query !== replacement ? { query, replacement, wholeWords: true, matchCase: query.toLowerCase() === replacement.toLowerCase() } : null;
  };

  const listItem = (match, ticked) => {
    const { text, ends } = textOf(Transcript.segment(match.segment));
    const from = ends[Math.max(0, match.first - around)][0], to = ends[Math.min(ends.length - 1, match.last + around)][1];
    const tick = Dom.make("input", { type: "checkbox", checked: true });
    ticked.set(match, tick);
    return Dom.make("li", {}, Dom.make("label", {}, tick,
      Dom.make("span", { dir: "auto" }, Texts.visible((from ? "\u2026 " : "") + text.slice(from, match.at[0])), Dom.make("mark", { text: Texts.visible(text.slice(...match.at)) }), Texts.visible(text.slice(match.at[1], to)))),
      Dom.make("button", { type: "button", class: "time", title: "go there and listen", text: Texts.clock(match.start), onclick: () => lead(match) }));
  };
  const lead = (match) => {
    document.querySelector("dialog[open]")?.close();
    Position.choose(match.from, match.to);
    Player.play(match.segment, match.start);
  };

  const open = ({ query = "", replacement = "", wholeWords = true, matchCase = false } = {}) => {
    const box = (label, value) => Dom.make("input", { type: "text", value, "aria-label": label, placeholder: label, maxlength: 2000, autocomplete: "off", dir: "auto" });
    const tick = (label, on) => { const input = Dom.make("input", { type: "checkbox", checked: on }); return [input, Dom.make("label", { class: "tick" }, input, label)]; };
    const sought = box("Find", query), other = box("Replace by", replacement);
    const [whole, wholeLabel] = tick("Whole words", wholeWords), [exact, exactLabel] = tick("Capitals as typed", matchCase), [heard, heardLabel] = tick("Mark as checked", false);
    const list = Dom.make("ol", { class: "matches" }), count = Dom.make("p", { class: "soft", role: "status" });
    let ticked = new Map();
    const look = () => {
      const found = matches(sought.value, { wholeWords: whole.checked, matchCase: exact.checked });
      ticked = new Map();
      list.replaceChildren(...found.slice(0, most).map((match) => listItem(match, ticked)));
      count.textContent = sought.value.trim() ? Texts.plural(found.length, "place") + (found.length > most ? ", of which the first " + Texts.count(most) + " are listed" : "") : "";
    };
    const apply = () => {
      const wanted = [...ticked].filter(([, input]) => input.checked).map(([match]) => match), now = Edits.tokens(other.value).join(" ");
      shown.close();
      if (!wanted.length) return;
      const made = EditHistory.make((now ? "Replace \u201c" + sought.value + "\u201d by \u201c" + now + "\u201d in " : "Delete \u201c" + sought.value + "\u201d in ") + Texts.plural(wanted.length, "place"),
        replacements(withOffsets(wanted), now, { matchCase: exact.checked, checked: heard.checked }));
      if (made) Notice.show(made.name, [{ label: "Undo", key: "u", act: Editing.undo }]);
    };
    const all = (on) => ticked.forEach((input) => { input.checked = on; });
    [sought, whole, exact].forEach((input) => input.addEventListener("input", look));
    const form = Dom.make("form", { onsubmit: (event) => { event.preventDefault(); apply(); } }, Dom.make("div", { class: "fields" }, sought, other), Dom.make("div", { class: "ticks" }, wholeLabel, exactLabel, heardLabel), count, list,
      Dialogs.buttons({ label: "All", act: () => all(true) }, { label: "None", act: () => all(false) }, { label: "Replace those that are ticked", main: true, type: "submit" }));
    const shown = Dialogs.open("Find and replace", form, { wide: true });
    sought.focus();
    look();
  };
  // Where the first word of a match begins in its segment, as it is now.
  const withOffsets = (list) => list.map((match) => ({ ...match, offset: textOf(Transcript.segment(match.segment)).ends[match.first][0] }));

  return { open, matches, replacements: (list, ...rest) => replacements(withOffsets(list), ...rest), correction, inCaseOf };
})();

