// Strip: a bar for each stretch of time, as high as the number of errors to expect in it.
const Strip = (() => {
  const fewest = 20, most = 120, seconds = 3, unseen = 0.05, height = 20;

  const bars = (words) => {
    const end = words.reduce((latest, word) => Math.max(latest, word.end), 0);
    if (end <= 0) return { end, heights: [] };
    const doubt = new Array(Math.floor(Math.min(Math.max(fewest, end / seconds), most))).fill(0);
    for (const word of words) {
      const middle = Math.max(0, (word.start + word.end) / 2);
      doubt[Math.min(doubt.length - 1, Math.floor(middle / end * doubt.length))] += 1 - word.confidence;
    }
    const highest = Math.max(1, ...doubt);
    return { end, heights: doubt.map((errors) => height * errors / highest) };
  };

  const rectangles = (heights) => heights.flatMap((each, index) => each > unseen
    ? [Dom.draw("rect", { x: (index + 0.1).toFixed(1), width: 0.8, y: (height - each).toFixed(2), height: each.toFixed(2) })] : []);

  const drawing = (recording) => {
    const { end, heights } = bars(recording.segments.flatMap((segment) => segment.words));
    if (end <= 0) return [];
    return [
      Dom.draw("svg", { viewBox: "0 0 " + heights.length + " " + height, preserveAspectRatio: "none", role: "img", "aria-label": "Expected errors over time", onclick: (event) => lead(recording, end, event) },
        ...rectangles(heights), Dom.draw("rect", { class: "head", width: 0.5, height, "data-end": end })),
      Dom.make("figcaption", {}, Dom.make("span", { text: "0:00" }), Dom.make("span", { text: "where the doubt is" }), Dom.make("span", { text: Texts.clock(end) })),
    ];
  };
  const make = (recording) => {
    const shown = drawing(recording);
    return shown.length ? Dom.make("figure", { class: "strip", id: "strip" + recording.index }, ...shown) : null;
  };
  const refresh = (recording) => Dom.by("strip" + recording.index)?.replaceChildren(...drawing(recording));

  // To the words of the time that was clicked.
  const lead = (recording, end, event) => {
    const box = event.currentTarget.getBoundingClientRect(), at = (event.clientX - box.left) / box.width * end;
    const words = recording.segments.flatMap((segment) => segment.words);
    const word = words.find((each) => each.start >= at) ?? words.at(-1);
    Position.go(word.id);
    Player.playWord(word);
  };

  // Where the sound is.
  const follow = (recording, time) => {
    const strip = Dom.by("strip" + recording.index), head = strip && strip.querySelector(".head");
    if (!head) return;
    strip.closest(".recording").classList.add("playing");
    head.setAttribute("x", head.ownerSVGElement.viewBox.baseVal.width * Math.min(1, time / Number(head.dataset.end)));
  };

  return { make, refresh, follow, bars };
})();

