// EditHistory: the steps that a person made, each a list of changes that are made and taken back together.
// A step: { name, at, changes }. The words are what the page came with, and the first `count` steps on top of it.
const EditHistory = (() => {
  let steps = [], count = 0, backs = [];
  const listeners = [];

  const told = (kind, step) => listeners.forEach((listener) => listener({ kind, step, steps, count }));

  // Makes a step; steps that were taken back before are gone. `name` says what was done: "Delete “cat”".
  // A function among the changes gives its own, of the words as those before it leave them.
  const make = (name, changes) => {
    const made = [];
    let back = [];
    for (const change of changes) {
      const own = typeof change === "function" ? change() : [change];
      back = [...Transcript.applied(own), ...back];
      made.push(...own);
    }
    if (!made.length) return null;
    const step = { name, at: new Date().toISOString(), changes: made };
    steps = [...steps.slice(0, count), step];
    backs.length = count;
    backs.push(back);
    count += 1;
    Transcript.emit("change", { segments: Transcript.segmentsOf(made) });
    told("make", step);
    return step;
  };

  const undo = () => {
    if (!count) return null;
    count -= 1;
    Transcript.change(backs.pop());
    told("undo", steps[count]);
    return steps[count];
  };
  const redo = () => {
    if (count === steps.length) return null;
    backs.push(Transcript.change(steps[count].changes));
    count += 1;
    told("redo", steps[count - 1]);
    return steps[count - 1];
  };

  // Makes the steps of an earlier visit; the transcript is as it was loaded. Nobody is told about each.
  const restore = (given, made) => {
    steps = given;
    count = Math.min(made, given.length);
    backs = steps.slice(0, count).map((step) => Transcript.applied(step.changes));
    Transcript.emit("change", { segments: Transcript.segmentsOf(steps.slice(0, count).flatMap((step) => step.changes)) });
  };

  const on = (listener) => listeners.push(listener);
  const nextNumber = () => count + 1;

  return {
    make, undo, redo, restore, on, nextNumber,
    get steps() { return steps; }, get count() { return count; },
    get canUndo() { return count > 0; }, get canRedo() { return count < steps.length; },
  };
})();

