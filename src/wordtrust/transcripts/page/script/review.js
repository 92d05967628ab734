// Review: leads through the stretches of the plan until few enough errors are left. A verdict is a step like any other
// (the words of the stretch are checked), so undo takes it back from the promise as well.
const Review = (() => {
  let plan = null, stretches = [], rankOf = [], current = null, later = new Set(), seen = new Map(), wasEnough = null;
  const open = 1e-9;

  // A stretch: { index, first, last: [segment, word], start, end }. Words are those that the page came with.
  const load = () => {
    plan = Transcript.data.plan ?? null;
    stretches = (plan?.stretches ?? []).map(([a, i, b, j, start, end], index) => ({ index, first: [a, i], last: [b, j], start, end }));
    rankOf = Transcript.segments.map((segment) => new Int32Array(segment.base.length).fill(-1));
    for (const stretch of [...stretches].reverse()) eachPart(stretch, (segment, from, to) => rankOf[segment].fill(stretch.index, from, to + 1));
  };
  const eachPart = ({ first: [a, i], last: [b, j] }, act) => {
    for (let segment = a; segment <= b; segment++) {
      const count = Transcript.segments[segment].base.length;
      if (count) act(segment, segment === a ? i : 0, segment === b ? j : count - 1);
    }
  };

  // The words that a stretch has now, by segments.
  const parts = (stretch) => {
    const found = [];
    eachPart(stretch, (index, from, to) => {
      const segment = Transcript.segments[index], { base } = segment;
      const after = from ? (base[from - 1].start + base[from - 1].end) / 2 : -Infinity, before = to + 1 < base.length ? (base[to + 1].start + base[to + 1].end) / 2 : Infinity;
      const outside = new Set([...base.slice(0, from), ...base.slice(to + 1)].map((word) => word.id));
      const words = segment.words.filter((word) => !outside.has(word.id) && (word.start + word.end) / 2 > after && (word.start + word.end) / 2 < before);
      if (words.length) found.push({ segment, words });
    });
    return found;
  };

  // Of each segment, as long as it is not changed: evidence and errors left; of each stretch what is open in it.
  const measured = (segment) => {
    if (!seen.has(segment.id)) seen.set(segment.id, { evidence: Evidence.of(segment), left: Evidence.left(segment, plan.words_per_gap) });
    return seen.get(segment.id);
  };
  const totals = () => Transcript.segments.reduce((sum, segment) => {
    const { evidence, left } = measured(segment);
    return { expected: sum.expected + evidence.expected, found: sum.found + evidence.found, left: sum.left + left };
  }, { expected: 0, found: 0, left: 0 });
  const openings = () => {
    const sums = stretches.map(() => ({ errors: 0, chance: 0 }));
    const add = (rank, chance, weight) => { if (rank >= 0 && chance > 0) { sums[rank].chance += chance; sums[rank].errors += weight * chance; } };
    Transcript.segments.forEach((segment, index) => {
      const ranks = rankOf[index], gap = plan.words_per_gap;
      Evidence.standing(segment).forEach((word, position) => {
        if (!word) return;
        if (!word.checked) add(ranks[position], 1 - word.confidence, 1);
        const before = position ? ranks[position - 1] : ranks[position];  // a gap beside somebody else's word is not closed here
        if (before >= 0 && ranks[position] >= 0) add(Math.max(before, ranks[position]), word.missing_before ?? 0, gap);
      });
      if (segment.base.length && segment.words.length) add(ranks.at(-1), segment.missing_end ?? 0, gap);
    });
    return sums;
  };

  // How things are: the promise, what is allowed, what is next and for how long.
  const state = () => {
    const { left, ...evidence } = totals(), words = Transcript.words().length, most = Promised.mostErrors(plan.target, words);
    const belief = Promised.belief(plan, evidence), promise = Promised.promise(belief, left, most), sums = openings();
    const todo = stretches.filter(({ index }) => sums[index].errors > open);
    const coming = [...todo.filter(({ index }) => !later.has(index)), ...todo.filter(({ index }) => later.has(index))];
    const enough = promise >= plan.sure;
    const needed = enough ? 0 : Promised.needed(plan, evidence, left, most, coming.map(({ index }) => sums[index]));
    const seconds = coming.slice(0, needed).reduce((sum, { start, end }) => sum + end - start, 0);
    return { promise, enough, most, words, evidence, errors: belief.factor * left, needed, seconds, next: coming[0] ?? null };
  };

  const duration = (seconds) => seconds < 60 ? Math.max(1, Math.round(seconds)) + " seconds" : (seconds / 60).toFixed(seconds < 600 ? 1 : 0) + " minutes";
  const percent = (share) => Math.floor(1000 * share + 1e-6) / 10 + "%";  // rounded down: what is shown as 95% is enough
  const told = (now) => {
    const goal = "at most " + percent(plan.target) + " wrong or missing (" + Texts.count(now.most) + " of " + Texts.plural(now.words, "word") + ")";
    if (now.enough) return "Enough: " + percent(now.promise) + " sure of " + goal + ". You can stop here.";
    if (!now.next) return percent(now.promise) + " sure of " + goal + "; all stretches of this page are heard.";
    return percent(now.promise) + " sure of " + goal + "; about " + duration(now.seconds) + " of listening left (" + (now.needed === 1 ? "1 stretch" : Texts.count(now.needed) + " stretches") + ").";
  };

  const words = () => current ? parts(current).flatMap((part) => part.words) : [];
  // Whether a person found something wrong in the stretch.
  const isCorrected = () => {
    let found = words().some((word) => word.checked && word.original);
    if (current) eachPart(current, (segment, from, to) => { found ||= Evidence.fates(Transcript.segments[segment]).slice(from, to + 1).includes("wrong"); });
    return found;
  };
  const mark = () => {
    document.querySelectorAll(".w.stretch").forEach((element) => element.classList.remove("stretch"));
    words().forEach((word) => WordsView.element(word.id)?.classList.add("stretch"));
  };
  const show = () => {
    if (!plan) return;
    const now = state();
    if (current && !words().length) current = null;
    mark();
    Dom.by("review-state").textContent = told(now);
    Dom.by("review").classList.toggle("enough", now.enough);
    Dom.by("review-progress").value = Math.min(1, now.promise / plan.sure);
    Dom.by("review-next").disabled = !now.next;
    Dom.by("review-right").disabled = Dom.by("review-later").disabled = !current;
    Dom.by("review-verdict").textContent = current && isCorrected() ? "Corrected" : "Right as it is";
    if (wasEnough === false && now.enough) Notice.show(told(now), [{ label: "Export\u2026", key: "x", act: () => Exports.open() }], { stays: true });
    wasEnough = now.enough;
    return now;
  };

  // Goes to a stretch, plays it with a little before and after, and stops.
  const play = () => {
    if (!current) return;
    Player.play(Transcript.segments[current.first[0]].id, current.start, current.end);
  };
  const go = (stretch) => {
    current = stretch;
    const listed = words();
    if (!listed.length) { current = null; show(); return; }
    const doubtful = listed.reduce((least, word) => (word.confidence < least.confidence ? word : least), listed[0]);
    show();
    Position.go(doubtful.id, { card: false });
    Dom.say("Stretch: " + Edits.written(listed));
    play();
  };
  const next = () => state().next;
  const goNext = () => { const stretch = next(); if (stretch) go(stretch); };

  // The verdict: all of the stretch is right now, as it was or because it was corrected.
  const right = () => {
    if (!current) return;
    const stretch = current, wrong = isCorrected(), text = Edits.written(words());
    const changes = parts(stretch).map(({ segment, words: listed }) => () => {
      const first = Transcript.indexOf(listed[0].id), last = Transcript.indexOf(listed.at(-1).id);
      const before = first === 0 || segment.words[first - 1].checked, after = last + 1 === segment.words.length || segment.words[last + 1].checked;
      return Edits.check(listed[0].id, listed.at(-1).id, { before: Boolean(before), after: Boolean(after) });
    });
    current = null;
    EditHistory.make((wrong ? "Corrected: \u201c" : "Right: \u201c") + Texts.visible(text) + "\u201d", changes);
    later.delete(stretch.index);
    const now = state();
    if (now.next?.index === stretch.index) later.add(stretch.index);  // what is open in it cannot be heard
    if (now.enough) show(); else goNext();
  };
  const putOff = () => {
    if (!current) return;
    later.add(current.index);
    current = null;
    goNext();
  };

  const refresh = (ids) => {
    ids.forEach((id) => seen.delete(id));
    show();
  };
  // The target that a person chose outlives a reload of the page.
  const chosen = () => "wordtrust:target:" + document.title;
  const aim = ({ target, sure }) => {
    if (target >= 0 && target < 1) plan.target = target;
    if (sure > 0 && sure < 1) plan.sure = sure;
  };
  const choose = () => {
    aim({ target: Dom.by("review-target").valueAsNumber / 100, sure: Number(Dom.by("review-sure").value) / 100 });
    try { sessionStorage.setItem(chosen(), JSON.stringify({ target: plan.target, sure: plan.sure })); } catch { /* it is asked again */ }
    wasEnough = null;
    show();
  };
  const recall = () => {
    try { aim(JSON.parse(sessionStorage.getItem(chosen())) ?? {}); } catch { /* as the page came */ }
  };

  const onKey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || Dom.isTyping(event.target)) return;
    const act = { g: goNext, a: right, l: putOff }[event.key];
    if (!act || (event.key !== "g" && !current)) return;
    event.preventDefault();
    act();
  };

  const start = () => {
    load();
    if (!plan || !stretches.length) return;
    recall();
    Dom.by("review").hidden = false;
    Dom.by("review-target").value = Number((100 * plan.target).toFixed(4));
    Dom.by("review-sure").value = String(Math.round(100 * plan.sure));
    for (const [id, act] of Object.entries({ "review-next": goNext, "review-right": right, "review-later": putOff })) Dom.by(id).addEventListener("click", act);
    for (const id of ["review-target", "review-sure"]) Dom.by(id).addEventListener("input", choose);
    Dom.by("review-target").addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); event.target.blur(); goNext(); } });
    Dom.by("review-sure").addEventListener("change", (event) => event.target.blur());  // keys are the page's again
    document.addEventListener("keydown", onKey);
    Keys.add(["g", "review: go to the next stretch and play it"], ["a", "review: all of it is right (now)"], ["l", "review: later"]);
    show();
  };

  return { start, refresh, next, go, right, state, parts, get current() { return current; } };
})();
