// Network: what the recognizer weighed against what, for the words that are chosen or for their segment, as a drawing.
const Network = (() => {
  const row = 34, top = 30, letter = 8.2, narrowest = 70;

  // Slots: a word and its alternatives, the surest first; a gap where something may be missing is a slot of its own.
  const slots = (words, missingEnd) => {
    const list = [];
    const gap = (chance) => { if (chance >= Transcript.limits.missing) list.push({ gap: true, arcs: [{ text: "(nothing)", share: 1 - chance, chosen: true }, { text: "something missing", share: chance }] }); };
    for (const word of words) {
      gap(word.missing_before ?? 0);
      const others = word.alternatives.map((other) => ({ text: WordsView.alternativeText(word, other), share: other.confidence }));
      list.push({ id: word.id, start: word.start, arcs: [{ text: Texts.visible(word.word || word.norm), share: word.confidence, chosen: true }, ...others] });
    }
    gap(missingEnd ?? 0);
    return list;
  };
  const label = ({ text, share }) => text + " " + Texts.percent(share);
  const widthOf = (slot) => Math.max(narrowest, 24 + letter * Math.max(...slot.arcs.map((arc) => label(arc).length)));

  const arc = (x, width, index, { share, chosen, text }) => {
    const y = top + row * index, from = x + 7, to = x + width - 7;
    const line = index === 0 ? "M" + from + " " + top + "H" + to : "M" + from + " " + top + "C" + (from + 14) + " " + y + " " + (from + 14) + " " + y + " " + (from + 28) + " " + y + "H" + (to - 28) + "C" + (to - 14) + " " + y + " " + (to - 14) + " " + y + " " + to + " " + top;
    return [
      Dom.draw("path", { class: "arc" + (chosen ? " chosen" : ""), d: line, "stroke-width": (1 + 5 * Math.min(1, share)).toFixed(1) }),
      Dom.draw("text", { x: x + width / 2, y: y - 6, "text-anchor": "middle", class: chosen ? "chosen" : "", text: label({ share, text }) }),
    ];
  };
  const drawing = (list) => {
    const widths = list.map(widthOf), total = widths.reduce((sum, width) => sum + width, 0) + 14, rows = Math.max(...list.map((slot) => slot.arcs.length));
    const parts = [];
    let x = 7;
    list.forEach((slot, index) => {
      slot.arcs.forEach((each, at) => parts.push(...arc(x, widths[index], at, each)));
      parts.push(Dom.draw("circle", { cx: x, cy: top, r: 5 }));
      x += widths[index];
    });
    parts.push(Dom.draw("circle", { cx: x, cy: top, r: 5 }));
    const told = list.map((slot) => slot.arcs.map(label).join(" or ")).join("; ");
    const size = { width: total, height: top + row * (rows - 1) + 14 };
    return Dom.draw("svg", { class: "network", ...size, viewBox: "0 0 " + size.width + " " + size.height, role: "img", "aria-label": told }, ...parts);
  };

  const open = () => {
    const chosen = Position.chosen(), segment = chosen.length ? Transcript.segmentOf(chosen[0].id) : Transcript.segments.find((each) => each.words.length);
    if (!segment) return;
    const words = chosen.length > 1 ? chosen : segment.words, list = slots(words, words.at(-1) === segment.words.at(-1) ? segment.missing_end : 0);
    const shown = Dialogs.open("Network", Dom.make("div", {},
      Dom.make("p", { class: "soft", text: Texts.clock(words[0].start, true) + " to " + Texts.clock(words.at(-1).end, true) + ": the words above were chosen, those below were weighed against them." }),
      Dom.make("div", { class: "network-frame", tabindex: 0, role: "group", "aria-label": "Network, scrolls" }, drawing(list))), { wide: true });
    const at = list.findIndex((slot) => slot.id === Position.here), frame = shown.querySelector(".network-frame");
    if (at > 0) frame.scrollLeft = list.slice(0, at).map(widthOf).reduce((sum, width) => sum + width, 0) - 100;
  };

  const start = () => {
    Dom.by("network").addEventListener("click", open);
    document.addEventListener("keydown", (event) => {
      if (event.key !== "w" || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || Dom.isTyping(event.target)) return;
      event.preventDefault();
      open();
    });
    Keys.add(["w", "the network of the words that are chosen, or of the segment"]);
  };

  return { start, open, slots };
})();

