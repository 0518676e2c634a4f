"use strict";
/* A command with a button that copies it. Without leave to use the clipboard it is selected, ready for Ctrl+C. */
(() => {
  const said = killtest.el("div", { class: "hidden", role: "status", "aria-live": "polite" });
  document.body.append(said);

  const select = (code) => {
    code.classList.add("shown");
    const range = document.createRange();
    range.selectNodeContents(code);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  };

  const tell = (button, word, sentence) => {
    button.textContent = word;
    said.textContent = sentence;
    setTimeout(() => { button.textContent = "Copy"; }, 2500);
  };

  killtest.command = (text, what) => {
    if (!text) return killtest.el("span", { class: "soft" }, "–");
    const code = killtest.el("code", { title: text }, text);
    const button = killtest.el("button", { type: "button", "aria-label": `Copy the command that reproduces ${what}` }, "Copy");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text);
        tell(button, "Copied", "The command is in the clipboard.");
      } catch {
        select(code);
        tell(button, "Ctrl+C", "The command is selected: copy it with Ctrl and C.");
      }
    });
    return killtest.el("div", { class: "command" }, code, button);
  };
})();
