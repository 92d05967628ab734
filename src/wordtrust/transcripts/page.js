(() => {
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement;

  // Light and dark
  const theme = $("theme"), system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
  const label = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  const asked = new URLSearchParams(location.search).get("theme");
  if (asked === "light" || asked === "dark") root.dataset.theme = asked;
  theme.hidden = false;
  label();
  theme.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; label(); });
  system.addEventListener("change", label);

  const words = [...document.querySelectorAll(".segment .w")];
  const sure = words.map((word) => Number(word.dataset.c));
  const start = words.map((word) => Number(word.dataset.t));
  const number = new Map(words.map((word, k) => [word, k]));
  const recordings = [...document.querySelectorAll(".recording")].map((section) => {
    const own = section.querySelectorAll(".segment .w");
    return { section, first: own.length ? number.get(own[0]) : 0, count: own.length, strip: section.querySelector(".strip") };
  });
  const clock = (seconds) => {
    const whole = Math.floor(seconds), pad = (n) => String(n).padStart(2, "0");
    const minutes = Math.floor(whole / 60), hours = Math.floor(minutes / 60);
    return (hours ? hours + ":" + pad(minutes % 60) : minutes) + ":" + pad(whole % 60) + "." + Math.floor(10 * (seconds - whole));
  };
  const percent = (value) => Math.floor(value + 1e-4) + "%";  // rounded down: what is shown as 90% is not under 90%

  // Which words are marked
  const limit = $("limit");
  let doubtful = [];
  const mark = () => {
    const under = Number(limit.value);
    doubtful = [];
    words.forEach((word, k) => {
      const on = sure[k] < under;
      if (on) doubtful.push(k);
      if (word.classList.contains("on") !== on) word.classList.toggle("on", on);
    });
    $("limit-shown").textContent = $("under").textContent = percent(under);
    $("marked").textContent = doubtful.length.toLocaleString("en");
    $("share").textContent = Math.round(100 * doubtful.length / Math.max(1, words.length)) + "%";
    $("prev").disabled = $("next").disabled = !doubtful.length;
    place();
  };
  const place = () => {
    const at = doubtful.indexOf(here);
    $("place").textContent = at < 0 ? "" : (at + 1).toLocaleString("en") + " of " + doubtful.length.toLocaleString("en");
  };

  // The card with what else a word may be
  const card = $("card");
  let shown = null, closing = 0;
  const element = (name, text, kind) => {
    const made = document.createElement(name);
    made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  const row = (name, text, value) => {
    const line = element("div", "", "row"), gauge = element("div", "", "gauge"), filled = element("div", "");
    filled.style.width = value + "%";
    gauge.append(filled);
    line.append(element(name, text), gauge, element("span", percent(value)));
    return line;
  };
  const others = (word) => JSON.parse(word.dataset.o || "[]");
  const surest = (word) => {  // the alternative that is surer than the word itself
    const [first] = others(word);
    return first && word.dataset.h === undefined && first[1] > Number(word.dataset.c) + 0.05 ? first[0] : "";
  };
  const show = (word) => {
    clearTimeout(closing);
    if (word === shown) return;
    shown = word;
    const list = others(word).map(([text, value]) => row("span", text, value)), surer = surest(word);
    card.replaceChildren(
      row("b", word.textContent, Number(word.dataset.c)),
      element("div", clock(Number(word.dataset.t)) + " to " + clock(Number(word.dataset.e)), "facts"),
      ...(list.length ? [element("div", word.dataset.h === undefined ? "or it may be" : "listeners heard", "or"), ...list] : []),
      ...(word.dataset.h ? [element("div", word.dataset.h, "why")] : []),
      ...(surer ? [element("div", "\u201c" + surer + "\u201d is surer by itself, but not in the sequence: words are chosen together.", "why")] : []),
    );
    card.hidden = false;
    const box = word.getBoundingClientRect(), room = root.clientWidth - card.offsetWidth - 10;
    const below = box.bottom + card.offsetHeight + 12 < innerHeight;
    card.style.left = Math.max(10, Math.min(box.left, room)) + scrollX + "px";
    card.style.top = (below ? box.bottom + 6 : box.top - card.offsetHeight - 6) + scrollY + "px";
  };
  const hide = () => { clearTimeout(closing); card.hidden = true; shown = null; };
  const later = () => { clearTimeout(closing); closing = setTimeout(hide, 200); };

  // The word that the reader is at
  let here = -1;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let reached = null;
  const stop = (word) => {  // the tab key stops at one word; the arrow keys lead to the others
    if (reached) reached.tabIndex = -1;
    reached = word;
    word.tabIndex = 0;
  };
  const go = (k, speak) => {
    if (here >= 0) words[here].classList.remove("here");
    here = k;
    const word = words[k], box = word.getBoundingClientRect();
    word.classList.add("here");
    stop(word);
    word.focus({ preventScroll: true });
    if (box.top < 130 || box.bottom > innerHeight - 180) scrollBy({ top: box.top - innerHeight / 3, behavior: "instant" });
    show(word);
    place();
    if (speak) {
      const list = others(word).map(([text, value]) => text + " " + percent(value)).join(", ");
      $("spoken").textContent = word.textContent + ", " + percent(sure[k]) + (list ? (word.dataset.h === undefined ? "; or " : "; heard ") + list : "") + (word.dataset.h ? "; " + word.dataset.h : "")
        + (surest(word) ? "; " + surest(word) + " is surer by itself, but not in the sequence" : "");
    }
  };
  const seek = (step) => {
    if (!doubtful.length) return;
    const next = step > 0 ? doubtful.find((k) => k > here) : doubtful.findLast((k) => k < here);
    go(next ?? doubtful.at(step > 0 ? 0 : -1), true);
  };
  $("next").addEventListener("click", () => seek(1));
  $("prev").addEventListener("click", () => seek(-1));
  limit.addEventListener("input", mark);

  const wordOf = (event) => {
    const word = event.target.closest && event.target.closest(".w");
    return word && number.has(word) ? word : null;
  };
  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const word = wordOf(event);
    if (word) show(word);
    else if (card.contains(event.target)) clearTimeout(closing);
    else if (shown) later();
  });
  document.addEventListener("focusin", (event) => {
    const word = wordOf(event);
    if (word) show(word); else if (!card.contains(event.target)) hide();
  });
  document.addEventListener("click", (event) => {
    const word = wordOf(event), at = event.target.closest(".at");
    if (word) {
      if (getSelection().isCollapsed) { go(number.get(word), false); play(word, start[here]); }
    } else if (at) play(at, Number(at.dataset.t));
    else if (!card.contains(event.target) && !event.target.closest(".tools, .strip")) hide();
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") return hide();
    if (event.target.closest("input:not([type=range]), audio")) return;
    const word = wordOf(event), k = word ? number.get(word) : -1;
    const step = { n: () => seek(1), p: () => seek(-1) }[event.key.toLowerCase()];
    const move = word && {
      ArrowRight: () => go(Math.min(k + 1, words.length - 1), true), ArrowLeft: () => go(Math.max(k - 1, 0), true),
      Enter: () => play(word, start[k]), " ": () => (player.paused ? play(word, start[k]) : player.pause()),
    }[event.key];
    if (!step && !move) return;
    event.preventDefault();
    (step || move)();
  });

  // Sound, from files that the reader picks
  const player = $("player");
  let urls = new Map(), playing = null, now = -1;
  const stem = (name) => name.replace(/\.[^.]*$/, "");
  const urlOf = (recording) => urls.get(recording.section.dataset.name) ?? urls.get(stem(recording.section.dataset.name))
    ?? (recordings.length === 1 || urls.size === 1 ? [...urls.values()][0] : undefined);
  const load = (recording) => {
    const url = urlOf(recording);
    if (!url) return false;
    if (player.src !== url) player.src = url;
    playing = recording;
    player.hidden = false;
    return true;
  };
  const play = (element, seconds) => {
    const recording = recordings.find((each) => each.section.contains(element));
    if (!recording || !load(recording)) return;
    player.currentTime = seconds;
    player.play().catch(() => {});
  };
  $("sound").addEventListener("change", (event) => {
    urls.forEach((url) => URL.revokeObjectURL(url));
    const picked = [...event.target.files];
    urls = new Map(picked.map((file) => [stem(file.name), URL.createObjectURL(file)]));
    $("sound-name").textContent = picked.length > 1 ? picked.length + " files" : picked.length ? picked[0].name : "Audio…";
    player.hidden = true;
    if (recordings.length) load(recordings[0]);
  });
  const follow = () => {
    if (!playing || !playing.count) return;
    let low = playing.first - 1, high = playing.first + playing.count - 1;
    while (low < high) {  // the last word that has begun
      const middle = Math.ceil((low + high) / 2);
      if (start[middle] <= player.currentTime + 0.02) low = middle; else high = middle - 1;
    }
    const at = low >= playing.first ? low : -1;
    if (at !== now) {
      if (now >= 0) words[now].classList.remove("now");
      if (at >= 0) words[at].classList.add("now");
      now = at;
      const box = at >= 0 && words[at].getBoundingClientRect();
      if (box && !player.paused && (box.top < 100 || box.bottom > innerHeight)) words[at].scrollIntoView({ block: "center", behavior: calm ? "instant" : "smooth" });
    }
    playing.section.classList.add("playing");
    const head = playing.strip && playing.strip.querySelector(".head");
    if (head) head.setAttribute("x", head.ownerSVGElement.viewBox.baseVal.width * Math.min(1, player.currentTime / Number(playing.strip.dataset.end)));
  };
  const tick = () => { follow(); if (!player.paused) requestAnimationFrame(tick); };
  player.addEventListener("play", tick);
  player.addEventListener("seeked", follow);

  // The strip leads to the words of that time
  recordings.forEach(({ strip, first, count, section }) => strip && strip.querySelector("svg").addEventListener("click", (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const seconds = (event.clientX - box.left) / box.width * Number(strip.dataset.end);
    const own = start.slice(first, first + count), found = own.findIndex((each) => each >= seconds);
    const k = first + (found < 0 ? count - 1 : found);
    go(k, false);
    play(section, start[k]);
  }));

  if (words.length) stop(words[0]);
  $("tools").hidden = false;
  mark();
})();
