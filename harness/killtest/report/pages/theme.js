"use strict";
/* Light or dark as the system says, or as the reader switched it; charts are told, since they hold colours of their own. */
(() => {
  const KEY = "killtest-theme";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const listeners = [];
  const stored = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const store = (choice) => { try { localStorage.setItem(KEY, choice); } catch { /* a page from a file may have no storage */ } };
  let choice = ["light", "dark"].includes(stored()) ? stored() : "system";

  const show = () => {
    document.documentElement.dataset.theme = killtest.theme();
    listeners.forEach((listener) => listener());
  };
  killtest.theme = () => (choice === "system" ? (dark.matches ? "dark" : "light") : choice);
  killtest.onTheme = (listener) => listeners.push(listener);
  /** The value of a colour of the style sheet, by its name without dashes. */
  killtest.colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  const options = { system: "System", light: "Light", dark: "Dark" };
  const select = killtest.el("select", { id: "theme-choice", onchange: (event) => { choice = event.target.value; store(choice); show(); } },
    Object.entries(options).map(([value, label]) => killtest.el("option", { value, selected: value === choice }, label)));
  document.getElementById("theme").append(killtest.el("label", { for: "theme-choice" }, "Theme "), select);
  dark.addEventListener("change", show);
  show();
})();
