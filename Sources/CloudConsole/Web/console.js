"use strict";
const rows = document.getElementById("rows");
const state = document.getElementById("state");
const pause = document.getElementById("pause");
const search = document.getElementById("search");
const kind = document.getElementById("kind");
const slowMilliseconds = 100;
const none = document.getElementById("none");
// The history of a record links to the request of a change.
search.value = new URL(location.href).searchParams.get("request") || "";
let last = 0;
let isPaused = false;
pause.addEventListener("click", () => {
  isPaused = !isPaused;
  pause.setAttribute("aria-pressed", String(isPaused));
  state.textContent = isPaused ? "Paused." : "Live.";
});
const utc = time => new Date(time).toISOString().replace("T", " ").replace("Z", "");
const cell = (row, text, style) => {
  const place = document.createElement("td");
  place.textContent = text === undefined ? "" : text;
  if (style) place.className = style;
  row.append(place);
};
const matches = row => {
  if (kind.value === "failed" && Number(row.dataset.status) < 400) return false;
  if (kind.value === "slow" && Number(row.dataset.milliseconds) < slowMilliseconds) return false;
  return row.dataset.text.includes(search.value.trim().toLowerCase());
};
const tell = () => { none.hidden = [...rows.children].some(row => !row.hidden); };
const filter = () => {
  for (const row of rows.children) row.hidden = !matches(row);
  tell();
};
search.addEventListener("input", filter);
kind.addEventListener("change", filter);
const ask = async () => {
  if (isPaused || document.visibilityState !== "visible") return setTimeout(ask, 1000);
  try {
    const answer = await fetch("/console/log.json?after=" + last);
    if (!answer.ok) throw new Error("status " + answer.status);
    for (const note of (await answer.json()).notes) {
      last = note.number;
      const row = document.createElement("tr");
      cell(row, utc(note.time), "time");
      cell(row, note.method);
      cell(row, note.endpoint);
      cell(row, note.status, "number " + (note.status < 400 ? "good" : "problem"));
      cell(row, note.error);
      cell(row, note.milliseconds.toFixed(1), "number");
      cell(row, note.place);
      cell(row, note.request, "id");
      row.dataset.status = note.status;
      row.dataset.milliseconds = note.milliseconds;
      row.dataset.text = [note.method, note.endpoint, note.status, note.error, note.place, note.request].join(" ").toLowerCase();
      row.hidden = !matches(row);
      rows.prepend(row);
      while (rows.children.length > 500) rows.lastElementChild.remove();
    }
    tell();
    state.textContent = "Live.";
  } catch {
    state.textContent = "The server cannot be reached.";
  }
  setTimeout(ask, 1000);
};
ask();
