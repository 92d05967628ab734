// Cues: how words become subtitles. The same cuts as in Python (cues.py), which says why.
const Cues = (() => {
  const line = 42, lines = 2, shortest = 1, longest = 7, read = 20, longPause = 1, apart = 0.083;
  const cost = { cue: 1, cut: 4, clause: 1, inner: 0.7, short: 4, fast: 0.1 };
  const length = (text) => [...text].length;
  const oneLine = (text) => Texts.visible(Texts.split(text).join(" "));
  const shown = (words) => Texts.trim(words.map(({ written, space }) => oneLine(written) + space).join(""));

  // Words that are written without a space between them.
  const token = (words) => {
    const text = shown(words), bare = text.replace(/["'\u201d\u2019\xbb)\]]+$/, "");
    return {
      words, letters: length(text), start: words[0].word.start, end: Math.max(...words.map(({ word }) => word.end)),
      endsSentence: /[.?!\u2026]$/.test(bare), endsClause: /[,;:\u2013\u2014]$/.test(bare),
    };
  };
  const tokens = (words) => {
    const made = [];
    let waiting = [];
    Texts.spelled(words).forEach(([written, space], index) => {
      waiting.push({ word: words[index], written, space });
      if (space) { made.push(token(waiting)); waiting = []; }
    });
    return waiting.length ? [...made, token(waiting)] : made;
  };
  // What is said between long pauses.
  const runs = (all) => {
    const made = [];
    for (const each of all) {
      if (made.length && each.start - made.at(-1).at(-1).end <= longPause) made.at(-1).push(each);
      else made.push([each]);
    }
    return made;
  };

  const letters = (list) => list.reduce((sum, each) => sum + each.letters, 0) + list.length - 1;
  // After how many tokens the second line begins; null if two lines are not enough.
  const split = (list, label) => {
    const total = label + letters(list);
    if (total <= line || list.length === 1) return list.length;
    let found = null, least = Infinity, first = label - 1;
    list.slice(0, -1).forEach((each, index) => {
      first += each.letters + 1;
      const second = total - first - 1;
      if (first > line || second > line) return;
      const price = Math.abs(second - first) + (first > second ? 2 : 0) - (each.endsSentence ? 12 : each.endsClause ? 8 : 0);
      if (price < least) [found, least] = [index + 1, price];
    });
    return found;
  };
  const fits = (list, label) => {
    if (list.at(-1).end - list[0].start > longest || letters(list) + label > lines * (line + 1)) return false;
    return split(list, label) !== null;
  };
  const price = (run, first, last) => {
    const list = run.slice(first, last), end = run[last - 1], seconds = Math.max(end.end - list[0].start, 0.001);
    let sum = cost.cue + cost.short * Math.max(0, shortest - seconds) + cost.fast * Math.max(0, letters(list) / seconds - read);
    sum += cost.inner * list.slice(0, -1).filter((each) => each.endsSentence).length;
    if (last < run.length && !end.endsSentence) sum += (end.endsClause ? cost.clause : cost.cut) * (1 - Math.min(1, Math.max(0, run[last].start - end.end)));
    return sum;
  };
  // Where cues begin, and the end of the last: the way that costs least.
  const cuts = (run, label) => {
    const best = [0, ...new Array(run.length).fill(Infinity)], back = new Array(run.length + 1).fill(0);
    for (let last = 1; last <= run.length; last++) {
      for (let first = last - 1; first >= 0; first--) {
        if (first < last - 1 && !fits(run.slice(first, last), first === 0 ? label : 0)) break;
        const sum = best[first] + price(run, first, last);
        if (sum < best[last]) { best[last] = sum; back[last] = first; }
      }
    }
    const made = [run.length];
    while (made[0]) made.unshift(back[made[0]]);
    return made;
  };

  const cue = (list, label) => {
    const count = split(list, label) || list.length, start = Numbers.milliseconds(list[0].start);
    const parts = [list.slice(0, count), list.slice(count)].filter((part) => part.length).map((part) => part.flatMap((each) => each.words));
    return { start, end: Math.max(start + 1, ...list.map((each) => Numbers.milliseconds(each.end))), lines: parts, letters: parts.reduce((sum, part) => sum + length(shown(part)), 0) };
  };

  // The cues of a segment; a label is read before the first and takes room in it.
  const of = (words, label = "") => {
    let room = length(label);
    return runs(tokens(words)).flatMap((run) => {
      const at = cuts(run, room);
      return at.slice(1).map((last, index) => { const made = cue(run.slice(at[index], last), room); room = 0; return made; });
    });
  };
  // Each stays for as long as it takes to be read, if there is room.
  const stayOn = (list) => list.map((each, index) => {
    const needed = Math.min(Math.max(shortest, each.letters / read), longest), until = each.start + Numbers.round(1000 * needed, 0);
    const after = index + 1 < list.length ? list[index + 1].start : Infinity;
    return { ...each, end: Math.max(each.end, Math.trunc(Math.min(until, after - 1000 * apart))) };
  });

  return { of, stayOn, oneLine };
})();

