"use strict";
// Browsers give a page the clipboard at an https address and on this machine.
for (const button of navigator.clipboard ? document.querySelectorAll("button[data-copies]") : []) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copies).textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not copied";
    }
  });
}
