// Served: on a page of `wordtrust view`, every step goes to the file beside the transcript as well.
const Served = (() => {
  let waiting = 0, sending = false, isStale = false, lost = false;

  const send = async (leaving = false) => {
    clearTimeout(waiting);
    waiting = 0;
    if (sending && !leaving) { isStale = true; return; }
    sending = true;
    isStale = false;
    try {
      const body = JSON.stringify(KeptSteps.state());
      const answer = await fetch(Transcript.data.save, { method: "PUT", body, keepalive: leaving && body.length < 60000 });
      if (!answer.ok) throw new Error(String(answer.status));
      if (lost) Notice.show("Changes are saved again.");
      lost = false;
    } catch {
      if (!lost) Notice.show("Changes cannot be saved: has wordtrust view ended? This browser keeps them meanwhile.", [], { stays: true });
      lost = true;
    }
    sending = false;
    if (isStale || lost) waiting = setTimeout(send, lost ? 5000 : 0);
  };

  const start = () => {
    if (!Transcript.data.save) return;
    KeptSteps.onKeep(() => { clearTimeout(waiting); waiting = setTimeout(send, 200); });
    addEventListener("pagehide", () => { if (waiting) send(true); });
  };
  return { start };
})();

