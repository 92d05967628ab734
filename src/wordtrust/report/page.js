(() => {
  const root = document.documentElement, button = document.getElementById("theme");
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const label = () => { button.textContent = dark() ? "Light" : "Dark"; };
  const asked = new URLSearchParams(location.search).get("theme");
  if (asked === "light" || asked === "dark") root.dataset.theme = asked;
  button.hidden = false;
  label();
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; label(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);

  // Hints lie at the left edge without this; with it they lie under their word, as far as there is room.
  const place = (event) => {
    const word = event.target.closest(".w"), hint = word && word.querySelector(".hint");
    if (!hint) return;
    const room = word.parentElement.clientWidth - hint.offsetWidth;
    hint.style.left = Math.max(0, Math.min(word.offsetLeft, room)) + "px";
    hint.style.top = word.offsetTop + word.offsetHeight + 2 + "px";
  };
  document.addEventListener("pointerover", place);
  document.addEventListener("focusin", place);
})();
