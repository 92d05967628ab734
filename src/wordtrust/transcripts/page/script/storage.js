// KeptSteps: after every step what was done is kept by the browser, a key for each step, so that a crash, a closed tab
// or a reload lose nothing. `onKeep` is also told (the served page sends it on).
const KeptSteps = (() => {
  let name = "", recording = "", base = "", failed = null;
  const listeners = [];

  // Which page this is, whatever became of its words since: the names of its recordings, and its file.
  const nameOf = (data) => {
    const file = String(data.about.file ?? "").split(/[\\/]/).at(-1);
    return [file, ...new Set(data.records.map((record) => record.utt))].join("\n");
  };
  // A number for a text, so that texts can be told apart by it.
  const hash = (text) => {
    let high = 0xdeadbeef, low = 0x41c6ce57;
    for (let at = 0; at < text.length; at++) {
      high = Math.imul(high ^ text.charCodeAt(at), 2654435761);
      low = Math.imul(low ^ text.charCodeAt(at), 1597334677);
    }
    high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
    low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
    return (low >>> 0).toString(16).padStart(8, "0") + (high >>> 0).toString(16).padStart(8, "0");
  };
  const baseOf = (data) => hash(JSON.stringify(data.records.map((record) => [record.utt, record.speaker ?? null, record.missing_end ?? null, record.words.map((word) => [word.word, word.start, word.end, word.confidence])])));

  const keyOf = (suffix) => "wordtrust:" + name + ":" + suffix;
  const stepKey = (index) => keyOf("step:" + index);

  const state = () => ({
    format: 1, recording, base, at: new Date().toISOString(),
    count: EditHistory.count, steps: EditHistory.steps, lost: Rebase.lost,
  });

  // Everything but the steps themselves: a few bytes.
  const head = () => { const { steps, ...rest } = state(); return { ...rest, length: steps.length }; };
  const write = (keep) => {
    try {
      keep();
      failed = null;
    } catch (error) {
      failed = error;
    }
    listeners.forEach((listener) => listener(state, failed));
  };
  const keep = ({ kind, steps, count }) => write(() => {
    if (kind === "make") {
      localStorage.setItem(stepKey(count - 1), JSON.stringify(steps[count - 1]));
      for (let index = count; localStorage.getItem(stepKey(index)) !== null; index++) localStorage.removeItem(stepKey(index));
    }
    localStorage.setItem(keyOf("head"), JSON.stringify(head()));
  });
  const keepAll = () => write(() => {
    forget();
    EditHistory.steps.forEach((step, index) => localStorage.setItem(stepKey(index), JSON.stringify(step)));
    localStorage.setItem(keyOf("head"), JSON.stringify(head()));
  });
  const forget = () => {
    for (let index = 0; localStorage.getItem(stepKey(index)) !== null; index++) localStorage.removeItem(stepKey(index));
    localStorage.removeItem(keyOf("head"));
  };

  // What was kept; null if nothing was.
  const read = () => {
    try {
      const known = JSON.parse(localStorage.getItem(keyOf("head")) ?? "null"), steps = [];
      if (!known) return null;
      for (let index = 0; index < known.length; index++) {
        const step = localStorage.getItem(stepKey(index));
        if (step === null) break;
        steps.push(JSON.parse(step));
      }
      return { ...known, steps };
    } catch {
      return null;  // there is no storage here, or somebody else wrote to it
    }
  };
  const newer = (one, other) => !one ? other : !other ? one : String(other.at) > String(one.at) ? other : one;

  // Makes the steps that were kept, here or by the server (`review` in the data).
  const restore = () => {
    const kept = newer(Transcript.data.review ?? null, read());
    if (!kept || !Array.isArray(kept.steps)) return;
    if (kept.base === base) { EditHistory.restore(kept.steps, kept.count); Rebase.lost = kept.lost ?? []; }
    else { Rebase.restore(kept); keepAll(); }
  };

  const start = () => {
    recording = nameOf(Transcript.data);
    base = baseOf(Transcript.data);
    name = hash(recording);
    restore();
    EditHistory.on(keep);
    addEventListener("storage", (event) => {  // another tab made a step
      if (event.key === keyOf("head") && event.newValue && JSON.parse(event.newValue).base === base) location.reload();
    });
  };

  const onKeep = (listener) => listeners.push(listener);
  return { start, onKeep, state, keepAll, nameOf, baseOf, hash, get failed() { return failed; } };
})();

