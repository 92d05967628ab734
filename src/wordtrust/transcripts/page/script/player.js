// Player: sound, from files that the reader picks; the words follow it.
const Player = (() => {
  let audio = null, urls = new Map(), playing = null, now = null, until = Infinity;
  const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
  const stem = (name) => name.replace(/\.[^.]*$/, "");

  const urlOf = (recording) => urls.get(recording.name) ?? urls.get(stem(recording.name))
    ?? (Transcript.recordings.length === 1 || urls.size === 1 ? [...urls.values()][0] : undefined);
  const load = (recording) => {
    const url = urlOf(recording);
    if (!url) return false;
    if (audio.src !== url) audio.src = url;
    playing = recording;
    audio.hidden = false;
    return true;
  };

  // Plays the recording of a segment from `start` on, until `end` or to its end.
  const play = (segment, start, end = Infinity) => {
    if (!load(Transcript.recordings[Transcript.segment(segment).recording])) return;
    until = end;
    audio.currentTime = start;
    audio.play().catch(() => {});
  };
  const playWord = (word) => play(Transcript.segmentOf(word.id).id, word.start);
  const toggle = (word) => { if (audio.paused) playWord(word); else audio.pause(); };

  const pick = (files) => {
    urls.forEach((url) => URL.revokeObjectURL(url));
    urls = new Map(files.map((file) => [stem(file.name), URL.createObjectURL(file)]));
    Dom.by("sound-name").textContent = files.length > 1 ? files.length + " files" : files.length ? files[0].name : "Audio…";
    audio.hidden = true;
    if (Transcript.recordings.length) load(Transcript.recordings[0]);
  };

  // The last word of the recording that has begun.
  const wordAt = (recording, seconds) => {
    let found = null;
    for (const segment of recording.segments) for (const word of segment.words) if (word.start <= seconds + 0.02 && (!found || word.start >= found.start)) found = word;
    return found;
  };
  const follow = () => {
    if (!playing) return;
    if (audio.currentTime >= until) { until = Infinity; audio.pause(); }
    const word = wordAt(playing, audio.currentTime), element = word && WordsView.element(word.id);
    if (element !== now) {
      now?.classList.remove("now");
      element?.classList.add("now");
      now = element;
      const box = element?.getBoundingClientRect();
      if (box && !audio.paused && (box.top < 100 || box.bottom > innerHeight)) element.scrollIntoView({ block: "center", behavior: calm() ? "instant" : "smooth" });
    }
    Strip.follow(playing, audio.currentTime);
  };
  const tick = () => { follow(); if (!audio.paused) requestAnimationFrame(tick); };

  const start = () => {
    audio = Dom.by("player");
    audio.addEventListener("play", tick);
    audio.addEventListener("seeked", follow);
    Dom.by("sound").addEventListener("change", (event) => pick([...event.target.files]));
    document.addEventListener("click", (event) => {
      const at = event.target.closest(".at"), section = at && at.closest(".recording");
      if (section && section.dataset.recording) play(Transcript.recordings[Number(section.dataset.recording)].segments[0].id, Number(at.dataset.start));
    });
  };

  return { start, play, playWord, toggle };
})();

