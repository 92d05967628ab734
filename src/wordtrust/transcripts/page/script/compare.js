// Compare: what other recognizers heard, below each segment; where they differ, their words can be taken over.
const Compare = (() => {
  const mostCells = 4e6;
  let isOn = false;

  // The words that both have, in order: pairs of places in the one and in the other list.
  const matches = (one, other) => {
    if (one.length * other.length > mostCells) return [];
    const table = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1));
    for (let i = one.length - 1; i >= 0; i--) for (let j = other.length - 1; j >= 0; j--) table[i][j] = one[i] === other[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    const pairs = [];
    for (let i = 0, j = 0; i < one.length && j < other.length;) {
      if (one[i] === other[j]) pairs.push([i++, j++]);
      else if (table[i + 1][j] >= table[i][j + 1]) i++; else j++;
    }
    return pairs;
  };
  // Runs: [{ same, ours: [words], theirs: [words] }], what both have and what differs in turn.
  const runs = (ours, theirs) => {
    const list = [];
    let i = 0, j = 0;
    const differs = (toI, toJ) => { if (i < toI || j < toJ) list.push({ same: false, ours: ours.slice(i, toI), theirs: theirs.slice(j, toJ) }); };
    for (const [a, b] of [...matches(ours.map((word) => word.norm), theirs.map((word) => word.norm)), [ours.length, theirs.length]]) {
      differs(a, b);
      if (a < ours.length && b < theirs.length) {
        if (list.at(-1)?.same) { list.at(-1).ours.push(ours[a]); list.at(-1).theirs.push(theirs[b]); } else list.push({ same: true, ours: [ours[a]], theirs: [theirs[b]] });
      }
      i = a + 1;
      j = b + 1;
    }
    return list;
  };

  const others = () => Transcript.data.others ?? [];
  // The words of another transcript by recordings, in the order of their middles; made once.
  const middle = (word) => (word.start + word.end) / 2;
  const sorted = new Map();
  const wordsOf = (other, segment) => {
    const names = new Set(other.records.map((record) => record.utt)), isNamed = names.has(segment.utt);
    const key = other.file + "\n" + (isNamed ? segment.utt : names.size === 1 ? "" : "\n" + segment.channel);
    if (!sorted.has(key)) {
      const records = other.records.filter((record) => isNamed ? record.utt === segment.utt : names.size === 1 || (record.channel && record.channel === segment.channel));
      sorted.set(key, records.flatMap((record) => record.words).sort((one, next) => middle(one) - middle(next)));
    }
    return sorted.get(key);
  };
  const firstFrom = (words, time) => {
    let low = 0, high = words.length;
    while (low < high) { const at = (low + high) >> 1; if (middle(words[at]) < time) low = at + 1; else high = at; }
    return low;
  };
  // Those in the time of a segment: as far as halfway to the segments beside it.
  let beside = new Map();
  const neighbours = () => {
    const before = new Map();
    for (const segment of Transcript.segments.filter((each) => each.base.length)) {
      const last = before.get(segment.utt);
      beside.set(segment.id, { before: last ?? null, after: null });
      if (last) beside.get(last.id).after = segment;
      before.set(segment.utt, segment);
    }
  };
  const wordsIn = (other, segment) => {
    if (!beside.size) neighbours();
    const words = wordsOf(other, segment), { before, after } = beside.get(segment.id);
    const from = before ? firstFrom(words, (before.base.at(-1).end + segment.base[0].start) / 2) : 0;
    return words.slice(from, after ? firstFrom(words, (segment.base.at(-1).end + after.base[0].start) / 2) : words.length);
  };

  const written = (words) => Texts.spelled(words).map(([text, space]) => text + space).join("").trim();
  const part = (run, recognizer) => {
    const text = Texts.visible(written(run.theirs));
    if (run.same) return [Dom.make("span", { text }), " "];
    const ours = run.ours.length ? "\u201c" + Texts.visible(written(run.ours)) + "\u201d" : "nothing";
    const take = run.ours.length ? () => Editing.correct(run.ours[0].id, run.ours.at(-1).id, written(run.theirs)) : null;
    const label = recognizer + " heard " + (text || "nothing") + " where the transcript has " + ours;
    if (!take) return [Dom.make("span", { class: "differs", title: label, text }), " "];
    return [Dom.make("button", { type: "button", class: "differs", title: label + "; click to take it over", "aria-label": label + ": take it over", text: text || "(nothing)", onclick: take }), " "];
  };
  const rows = (segment) => others().map((other) => {
    const list = runs(segment.words, wordsIn(other, segment));
    return Dom.make("div", { class: "other" }, Dom.make("span", { class: "other-name soft", title: Texts.visible(other.file ?? ""), text: Texts.shortName(other.name) }), Dom.make("p", { dir: "auto" }, ...list.flatMap((run) => part(run, other.name))));
  });
  const showSegment = (segment) => {
    const shown = Dom.by(segment.id);
    if (!shown) return;
    shown.querySelector(".others")?.remove();
    if (isOn && segment.base.length) shown.append(Dom.make("div", { class: "others" }, ...rows(segment)));
  };

  // Segments get theirs when they come into view.
  const seen = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach(({ target }) => {
    seen.unobserve(target);
    showSegment(Transcript.segment(target.id));
  }), { rootMargin: "600px" });
  const toggle = () => {
    isOn = !isOn;
    Dom.by("compare").setAttribute("aria-pressed", String(isOn));
    seen.disconnect();
    document.querySelectorAll("#words .others").forEach((element) => element.remove());
    if (isOn) document.querySelectorAll("#words .segment[data-segment]").forEach((element) => seen.observe(element));
    Dom.say(isOn ? "what others heard is shown" : "what others heard is hidden");
  };
  const refresh = (ids) => { if (isOn) ids.forEach((id) => showSegment(Transcript.segment(id))); };

  const start = () => {
    if (!others().length) return;
    Dom.by("compare").hidden = false;
    Dom.by("compare").addEventListener("click", toggle);
    document.addEventListener("keydown", (event) => {
      if (event.key !== "v" || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || Dom.isTyping(event.target)) return;
      event.preventDefault();
      toggle();
    });
    Keys.add(["v", "what other recognizers heard"]);
    toggle();
  };

  return { start, refresh, runs, matches };
})();

