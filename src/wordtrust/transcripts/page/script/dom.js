// Dom: elements are made here, and texts become text nodes, so that nothing in a word is ever markup.
const Dom = (() => {
  const drawing = "http://www.w3.org/2000/svg";  // a name, not an address: nothing is loaded
  const by = (id) => document.getElementById(id);

  const fill = (made, attributes, children) => {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === undefined || value === null || value === false) continue;
      if (name === "class") made.setAttribute("class", value);
      else if (name === "text") made.textContent = value;
      else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
    return made;
  };
  const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const draw = (tag, attributes, ...children) => fill(document.createElementNS(drawing, tag), attributes, children);

  // From where to where words can be seen, between the tools above and below them.
  const room = () => {
    const above = by("tools").getBoundingClientRect(), below = by("review").hidden ? null : by("review").getBoundingClientRect();
    return [Math.max(0, above.top <= 0 ? above.bottom : 0), below && below.bottom >= innerHeight - 1 ? Math.max(below.top, innerHeight / 2) : innerHeight];
  };
  // Brings an element to where it can be seen; what comes into view on the way may change the heights.
  const reveal = (element) => {
    for (let attempt = 0; attempt < 3; attempt++) {
      const box = element.getBoundingClientRect(), [top, bottom] = room();
      if (box.top >= top + 8 && box.bottom <= bottom - 24) return;
      scrollBy({ top: box.top - top - (bottom - top) / 4, behavior: "instant" });
    }
  };

  // For screen readers: what has just happened.
  const say = (text) => { by("spoken").textContent = text; };
  const isTyping = (target) => Boolean(target.closest && target.closest("input:not([type=range]):not([type=checkbox]), textarea, select, audio, [contenteditable]"));

  return { by, make, draw, room, reveal, say, isTyping };
})();

