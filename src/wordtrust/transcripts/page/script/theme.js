// Theme: light and dark, as the system has it or as the reader wants it.
const Theme = (() => {
  const start = () => {
    const root = document.documentElement, button = Dom.by("theme"), system = matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
    const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
    const asked = new URLSearchParams(location.search).get("theme");
    if (asked === "light" || asked === "dark") root.dataset.theme = asked;
    button.hidden = false;
    label();
    button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; label(); });
    system.addEventListener("change", label);
  };
  return { start };
})();

