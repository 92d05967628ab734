// Edits: the changes that correct, insert, delete and check words. Times stay in order, and none is below 0:
// corrected words share the time of those that they stand for, new ones take a pause, or some of their neighbours' room.
const Edits = (() => {
  const letterSeconds = 0.06, shortest = 0.12, longest = 0.8;  // that a new word would like to have
  const round = (seconds) => Math.round(seconds * 1000) / 1000;
  const unwanted = /[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

  // What a person typed, as words: nothing in them acts on a page or terminal.
  const tokens = (text) => text.replace(/\s+/g, " ").replace(unwanted, "").split(" ").filter(Boolean);
  const norm = (text) => (text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+(?:['\u2019][\p{L}\p{M}\p{N}]+)*/gu) || [text.toLowerCase()]).join(" ");
  const written = (words) => Texts.spelled(words).map(([text, space]) => text + space).join("").trim();
  const known = (gap) => gap !== undefined && gap !== null;

  // Shares a stretch of time by the letters of the texts.
  const share = (texts, start, end) => {
    const letters = texts.map((text) => Math.max(1, [...text].length)), total = letters.reduce((sum, each) => sum + each, 0);
    let before = 0;
    return letters.map((each) => {
      const from = round(start + (end - start) * before / total);
      before += each;
      return { start: from, end: round(start + (end - start) * before / total) };
    });
  };

  const idMaker = () => {
    const step = EditHistory.nextNumber();
    let made = 0;
    return () => "e" + step + "." + made++;
  };

  // Words from one to another in a segment, as indices; words that are written as one number (42) go together.
  const range = (segment, from, to) => {
    const at = [from, to].map((id) => segment.words.findIndex((word) => word.id === id));
    return [Math.min(...at), Math.max(...at)];
  };
  const numberRange = (segment, first, last) => {
    while (first > 0 && segment.words[first].word === "") first -= 1;
    while (last + 1 < segment.words.length && segment.words[last + 1].word === "") last += 1;
    return [first, last];
  };
  const spelledOut = (segment, first, last) => {
    const [begin, end] = numberRange(segment, first, last), isNumber = segment.words[first].word === "" || end > last || begin < first;
    if (!isNumber) return { before: [], after: [] };
    const plain = (word) => ({ ...word, word: word.norm });
    return { before: segment.words.slice(begin, first).map(plain), after: segment.words.slice(last + 1, end + 1).map(plain) };
  };

  const changeOf = (segment, first, count, made) => {
    const removed = segment.words.slice(first, first + count), near = [segment.words[first - 1], segment.words[first]];
    return {
      segment: segment.id, utt: segment.utt, words: removed.map((word) => word.id), said: removed.map((word) => word.word),
      after: first ? segment.words[first - 1].id : null, with: made,
      start: removed[0]?.start ?? near[0]?.end ?? near[1]?.start ?? 0, end: removed.at(-1)?.end ?? near[1]?.start ?? near[0]?.end ?? 0,
    };
  };

  const without = (word, ...names) => Object.fromEntries(Object.entries(word).filter(([name]) => !names.includes(name)));
  const original = (words) => {
    const text = written(words), first = words[0];
    if (words.length === 1) return first.original ?? { word: first.word || first.norm, confidence: first.confidence };
    return { word: text.slice(0, 2000), confidence: words.reduce((product, word) => product * Math.min(1, word.original?.confidence ?? word.confidence), 1) };
  };
  // A word with another text in its place. Who has not listened does not make it surer.
  const corrected = (word, text, checked) => {
    const { original: was, ...rest } = { ...word, word: text, norm: norm(text), original: original([word]) };
    const same = was.word === text ? { ...rest, norm: word.norm } : { ...without(rest, "heard", "made_up"), original: was };
    return checked ? heard(same) : same;
  };

  // A word that a person has listened to.
  const heard = (word) => ({ ...without(word, "made_up"), confidence: 1, checked: true, ...(word.accepted === undefined ? {} : { accepted: true }) });

  const fresh = (text, time, confidence, more) => ({
    word: text, norm: norm(text), ...time, confidence, alternatives: [], ...more,
  });

  // Other words for those from one to another; no text deletes them.
  const replace = (fromId, toId, text, { checked = true, id = idMaker() } = {}) => {
    const segment = Transcript.segmentOf(fromId), [first, last] = range(segment, fromId, toId), texts = tokens(text);
    if (!texts.length) return remove(fromId, toId);
    const old = segment.words.slice(first, last + 1), { before, after } = spelledOut(segment, first, last);
    const made = texts.length === old.length
      ? old.map((word, index) => ({ ...corrected(word, texts[index], checked), id: id() }))
      : resized(old, texts, checked).map((word) => ({ ...word, id: id() }));
    if (!before.length && !after.length && made.length === old.length && made.every((word, index) => word.word === old[index].word && word.checked === old[index].checked)) return [];
    return [changeOf(segment, first - before.length, before.length + old.length + after.length, [...before, ...made, ...after])];
  };
  const resized = (old, texts, checked) => {
    const times = share(texts, old[0].start, Math.max(old[0].start, old.at(-1).end));
    const confidence = checked ? 1 : old.reduce((least, word) => Math.min(least, word.confidence), 1);
    const gap = known(old[0].missing_before) ? { missing_before: 0 } : {};
    const was = original(old);
    return texts.map((text, index) => fresh(text, times[index], confidence, {
      ...(index ? gap : known(old[0].missing_before) ? { missing_before: old[0].missing_before } : {}),
      ...(index + 1 === texts.length && old.at(-1).joins_next ? { joins_next: true } : {}),
      original: index ? { word: "", confidence: null } : was, ...(checked ? { checked: true } : {}),
    }));
  };

  const remove = (fromId, toId) => {
    const segment = Transcript.segmentOf(fromId), [first, last] = range(segment, fromId, toId);
    const { before, after } = spelledOut(segment, first, last), begin = first - before.length, end = last + after.length;
    const previous = segment.words[begin - 1], isCut = !before.length && !after.length && previous?.joins_next && !segment.words[last].joins_next;
    if (isCut) return [changeOf(segment, begin - 1, end - begin + 2, [without(previous, "joins_next")])];
    return [changeOf(segment, begin, end - begin + 1, [...before, ...after])];
  };

  // The time for new words between two others: a pause, or else some of what their neighbours have.
  const room = (texts, previous, next, low, high) => {
    const wanted = texts.reduce((sum, text) => sum + Math.min(longest, Math.max(shortest, letterSeconds * [...text].length)), 0);
    let from = previous ? previous.end : low, to = next ? next.start : high;
    if (to < from) from = to = Math.max(previous?.start ?? 0, (from + to) / 2);
    const pause = to - from, lacking = wanted - pause;
    if (lacking <= 0) return { start: round(from + (pause - wanted) / 2), end: round(from + (pause + wanted) / 2) };
    const left = previous ? Math.max(0, from - previous.start) / 2 : 0, right = next ? Math.max(0, next.end - to) / 2 : 0;
    const taken = left + right ? Math.min(1, lacking / (left + right)) : 0;
    return { start: round(from - left * taken), end: round(to + right * taken) };
  };
  // Times that the words of other segments leave to this one.
  const bounds = (segment) => {
    const { segments } = Transcript.recordings[segment.recording], at = segments.indexOf(segment);
    const ends = segments.slice(0, at).flatMap((each) => each.words.map((word) => word.end));
    const before = segment.words[0]?.start ?? segment.start ?? 0, after = segment.words.at(-1)?.end ?? segment.end ?? before;
    const following = segments.slice(at + 1).find((each) => each.words.length)?.words[0].start ?? after + 60;
    return [Math.max(0, Math.min(before, ends.at(-1) ?? 0)), Math.max(after, following)];
  };

  // New words after a word, or before the first one (`afterId` null).
  const insert = (segmentId, afterId, text, { checked = true, id = idMaker() } = {}) => {
    const segment = Transcript.segment(segmentId), texts = tokens(text);
    if (!texts.length) return [];
    let at = afterId === null ? -1 : segment.words.findIndex((word) => word.id === afterId);
    if (at >= 0) [, at] = numberRange(segment, at, at);
    const previous = segment.words[at], next = segment.words[at + 1], [low, high] = bounds(segment);
    const near = previous ? Math.min(high, previous.end + 2) : Math.max(low, (next?.start ?? low) - 2);
    const time = previous || next ? room(texts, previous, next, previous ? low : near, next ? high : near) : { start: low, end: Math.min(high, low + 1) };
    const times = share(texts, time.start, Math.max(time.start, time.end));
    const gap = known(next ? next.missing_before : segment.missing_end) ? { missing_before: 0 } : {};
    const made = texts.map((each, index) => ({
      ...fresh(each, times[index], 1, { ...gap, original: { word: "", confidence: null }, ...(checked ? { checked: true } : {}) }), id: id(),
    }));
    const moved = [
      ...(previous ? [{ ...without(previous, "joins_next"), end: Math.min(previous.end, time.start) }] : []), ...made,
      ...(next ? [{ ...next, start: Math.max(next.start, time.end), ...(known(next.missing_before) && checked ? { missing_before: 0 } : {}) }] : []),
    ];
    const first = previous ? at : at + 1;
    return [changeOf(segment, first, (previous ? 1 : 0) + (next ? 1 : 0), moved)];
  };

  // Words that a person has listened to and found right: nothing is missing between them either, and where that was
  // heard too, nothing `before` the first and `after` the last.
  const check = (fromId, toId, { before = false, after = false, checked = true } = {}) => {
    const segment = Transcript.segmentOf(fromId), [first, last] = range(segment, fromId, toId), next = segment.words[last + 1];
    const closed = (word) => (known(word.missing_before) ? { missing_before: 0 } : {});
    const made = segment.words.slice(first, last + 1).map((word, index) =>
      checked ? { ...heard(word), ...(index || before ? closed(word) : {}) } : unchecked(segment, word));
    const beyond = checked && after && next ? [{ ...next, ...closed(next) }] : [];
    const changes = [changeOf(segment, first, made.length + beyond.length, [...made, ...beyond])];
    return checked && after && !next && known(segment.missing_end) ? [...changes, set(segment.id, { missing_end: 0 })] : changes;
  };
  // As it was before anybody listened.
  const unchecked = (segment, word) => {
    const was = segment.base.find((each) => each.id === word.id) ?? segment.base.find((each) => each.start === word.start && each.end === word.end);
    const confidence = was?.confidence ?? word.original?.confidence ?? 1;
    return { ...without(word, "checked"), confidence, ...(was && known(was.missing_before) ? { missing_before: was.missing_before } : {}) };
  };
  const checkSegment = (id, options) => {
    const { words } = Transcript.segment(id);
    return words.length ? check(words[0].id, words.at(-1).id, { before: true, after: true, ...options }) : [];
  };

  // Sets something about a segment: its speaker, or how likely words are missing at its end.
  const set = (segmentId, values) => {
    const segment = Transcript.segment(segmentId);
    return {
      segment: segmentId, utt: segment.utt, set: values, was: Object.fromEntries(Object.keys(values).map((name) => [name, segment[name] ?? null])),
      start: segment.words[0]?.start ?? segment.start ?? 0, end: segment.words.at(-1)?.end ?? segment.end ?? 0,
    };
  };

  return { replace, remove, insert, check, checkSegment, set, tokens, norm, written, share, room, range, idMaker };
})();

