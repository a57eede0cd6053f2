"use strict";
(() => {
  const root = document.documentElement.dataset.root;
  const input = document.getElementById("search");
  const form = document.getElementById("search-form");
  const results = document.getElementById("results");
  const status = document.getElementById("search-status");
  const menu = document.getElementById("menu");
  let index = null;
  let loading = null;
  let selected = -1;

  /** Loads the index with the first search. A script works where pages are files; a request doesn't. */
  function loadIndex() {
    loading ||= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = root + "assets/search-index.js";
      script.addEventListener("load", () => {
        index = prepareIndex(window.tarnSearchIndex);
        resolve();
      });
      script.addEventListener("error", () => reject(new Error("The index of the search can't be loaded.")));
      document.head.append(script);
    });
    return loading;
  }

  function close() {
    results.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    selected = -1;
  }

  function select(position) {
    const options = [...results.querySelectorAll("a")];
    if (!options.length) return;
    selected = (position + options.length) % options.length;
    options.forEach((option, at) => option.setAttribute("aria-selected", String(at === selected)));
    input.setAttribute("aria-activedescendant", options[selected].id);
    options[selected].scrollIntoView({ block: "nearest" });
  }

  function optionOf(entry, position, query) {
    const option = document.createElement("a");
    option.href = root + entry.address;
    option.id = `result-${position}`;
    option.setAttribute("role", "option");
    option.setAttribute("aria-selected", "false");
    option.tabIndex = -1;
    for (const [name, text] of [["title", entry.title], ["place", [entry.kind, entry.context].filter(Boolean).join(" · ")], ["text", excerptOf(entry, query)]]) {
      if (!text) continue;
      const part = document.createElement("span");
      part.className = name;
      part.textContent = text;
      option.append(part);
    }
    return option;
  }

  async function search() {
    const query = input.value;
    if (!query.trim()) return close();
    try {
      await loadIndex();
    } catch (error) {
      status.textContent = error.message;
      return;
    }
    if (query !== input.value) return;
    const found = searchEntries(index, query);
    results.replaceChildren(...found.map((entry, position) => optionOf(entry, position, query)));
    if (!found.length) {
      const nothing = document.createElement("p");
      nothing.textContent = "No page has these words.";
      results.append(nothing);
    }
    status.textContent = found.length === 1 ? "1 result" : `${found.length} results`;
    results.hidden = false;
    input.setAttribute("aria-expanded", "true");
    selected = -1;
    input.removeAttribute("aria-activedescendant");
  }

  input.addEventListener("focus", () => { loadIndex().catch(() => {}); });
  input.addEventListener("input", search);
  input.addEventListener("keydown", event => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      select(event.key === "ArrowDown" ? selected + 1 : selected < 0 ? -1 : selected - 1);
    } else if (event.key === "Escape") {
      close();
    }
  });
  form.addEventListener("submit", event => {
    event.preventDefault();
    const option = results.querySelectorAll("a")[Math.max(selected, 0)];
    if (option && !results.hidden) option.click();
  });
  results.addEventListener("click", event => { if (event.target.closest("a")) close(); });
  document.addEventListener("click", event => { if (!form.contains(event.target)) close(); });
  form.addEventListener("focusout", event => { if (event.relatedTarget && !form.contains(event.relatedTarget)) close(); });
  document.addEventListener("keydown", event => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    event.preventDefault();
    input.focus();
    input.select();
  });

  menu.addEventListener("click", () => {
    const isOpen = document.body.classList.toggle("menu-open");
    menu.setAttribute("aria-expanded", String(isOpen));
  });

  // A button that copies each block of code.
  for (const block of document.querySelectorAll("main pre:not(.declaration)")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(block.textContent);
        button.textContent = "Copied";
      } catch {
        // Pages that are files may have no clipboard: select the code instead.
        window.getSelection().selectAllChildren(block);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    const frame = document.createElement("div");
    frame.className = "code";
    block.replaceWith(frame);
    frame.append(block, button);
  }

  // The outline marks the section that is read.
  const links = new Map([...document.querySelectorAll(".outline a")].map(link => [decodeURIComponent(link.hash.slice(1)), link]));
  if (links.size && "IntersectionObserver" in window) {
    const visible = new Set();
    const observer = new IntersectionObserver(changes => {
      for (const change of changes) {
        if (change.isIntersecting) visible.add(change.target.id);
        else visible.delete(change.target.id);
      }
      const current = [...links.keys()].find(id => visible.has(id));
      if (!current) return;
      for (const [id, link] of links) link.classList.toggle("current", id === current);
    }, { rootMargin: "-64px 0px -60% 0px" });
    for (const heading of document.querySelectorAll("main h2[id], main h3[id]")) {
      if (links.has(heading.id)) observer.observe(heading);
    }
  }

  // The filter of the parity ledger.
  const filter = document.querySelector(".filter");
  if (filter) {
    const [text, state] = filter.querySelectorAll("input, select");
    const rows = [...document.querySelectorAll(".ledger tbody tr")].map(row => ({ row, text: row.textContent.toLowerCase() }));
    const apply = () => {
      const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      for (const item of rows) {
        const isShown = (!state.value || item.row.dataset.state === state.value) && words.every(word => item.text.includes(word));
        item.row.hidden = !isShown;
        if (isShown) count += 1;
      }
      for (const section of document.querySelectorAll(".ledger")) section.hidden = !section.querySelector("tbody tr:not([hidden])");
      filter.querySelector("output").textContent = count === 1 ? "1 row" : `${count} rows`;
    };
    filter.addEventListener("input", apply);
    filter.addEventListener("submit", event => event.preventDefault());
  }
})();
