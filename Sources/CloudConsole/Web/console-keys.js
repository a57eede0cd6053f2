"use strict";
/** What a key means after the keys before it: the next state, and what to do. */
const keyStep = (state, key) => {
  if (state.isPrefixed) return { isPrefixed: false, action: { kind: "go", key } };
  const actions = {
    "/": { kind: "search" }, "?": { kind: "help" }, e: { kind: "edit" },
    j: { kind: "row", by: 1 }, k: { kind: "row", by: -1 }, n: { kind: "page", to: "next" }, p: { kind: "page", to: "prev" }
  };
  return { isPrefixed: key === "g", action: Object.hasOwn(actions, key) ? actions[key] : null };
};
const keyHelp = document.getElementById("keys");
if (keyHelp) {
  const prefixMilliseconds = 2000;
  const setting = "tarn.console.keys";
  const isOn = document.getElementById("keys-on");
  let state = { isPrefixed: false };
  let timer = 0;
  isOn.checked = localStorage.getItem(setting) !== "off";
  isOn.addEventListener("change", () => localStorage.setItem(setting, isOn.checked ? "on" : "off"));
  const first = selector => [...document.querySelectorAll("main " + selector)].find(element => element.checkVisibility());
  const open = () => { if (!keyHelp.open) keyHelp.showModal(); };
  const actions = {
    help: open,
    go: ({ key }) => {
      const link = [...document.querySelectorAll("header nav a")].find(it => it.dataset.key === key);
      if (link) location.assign(link.href);
    },
    search: () => (first("input[type=search]") || first("input[name=value]") || first("input:not([type=hidden]):not([type=checkbox])"))?.focus(),
    edit: () => first("form[method=post] :is(input:not([type=hidden]):not([type=checkbox]):not([type=file]), textarea, select)")?.focus(),
    page: ({ to }) => { const link = first(`a[rel=${to}]`); if (link) location.assign(link.href); },
    row: ({ by }) => {
      const links = [...document.querySelectorAll("main tbody tr")].filter(row => row.checkVisibility())
        .map(row => row.querySelector("a, button, summary")).filter(Boolean);
      const row = document.activeElement.closest("tr");
      const index = row ? links.findIndex(link => link.closest("tr") === row) : -1;
      const next = index < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, index + by));
      links[next]?.focus();
    }
  };
  document.addEventListener("keydown", event => {
    if (!isOn.checked || keyHelp.open || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const isTyping = event.target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");
    if (isTyping) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const { isPrefixed, action } = keyStep(state, event.key);
    state = { isPrefixed };
    clearTimeout(timer);
    if (isPrefixed) timer = setTimeout(() => { state = { isPrefixed: false }; }, prefixMilliseconds);
    if (!action) return;
    event.preventDefault();
    actions[action.kind](action);
  });
  document.getElementById("show-keys").addEventListener("click", open);
}
