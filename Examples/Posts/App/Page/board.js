// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// The public board, and the entrance for links of shared posts.

import { byID, element, replaceIfChanged, send } from "./dom.js";

const showBoardPane = isShown => {
  byID("list").hidden = isShown;
  byID("board").hidden = !isShown;
  byID(isShown ? "close-board" : "open-board").focus();
};
byID("open-board").addEventListener("click", () => showBoardPane(true));
byID("close-board").addEventListener("click", () => showBoardPane(false));
byID("notice-form").addEventListener("submit", async event => {
  event.preventDefault();
  const text = byID("notice-text").value.trim();
  if (text === "" || await send("POST", "board", { text }) === undefined) return;
  byID("notice-text").value = "";
});

export const showBoard = board => {
  byID("board-count").textContent = board.length === 0 ? "" : String(board.length);
  replaceIfChanged(byID("notices"), board, () => board.map(entry => element(
    "li", { class: "trashed" }, element("span", {}, element("strong", {}, entry.text), ` ${entry.author}`),
    entry.isOwn ? element("button", { type: "button", "aria-label": `Delete ${entry.text}`, onclick: () => send("DELETE", `board/${entry.id}`) }, "Delete") : null)));
};

byID("share-form").addEventListener("submit", async event => {
  event.preventDefault();
  if (await send("POST", "shares", { link: byID("share-link").value }) === undefined) return;
  byID("share-link").value = "";
  showBoardPane(false);
});
