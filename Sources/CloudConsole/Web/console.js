"use strict";
const rows = document.getElementById("rows");
const state = document.getElementById("state");
const pause = document.getElementById("pause");
const search = document.getElementById("search");
const kind = document.getElementById("kind");
const container = document.getElementById("container");
const endpoint = document.getElementById("endpoint");
const user = document.getElementById("user");
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
const size = bytes => bytes < 1000 ? bytes + " bytes" : (bytes / 1000).toFixed(1) + " kB";
/** A cell with the user, which opens to what the row has no column for. */
const details = (row, note) => {
  const place = document.createElement("td");
  const all = document.createElement("details");
  const summary = document.createElement("summary");
  const list = document.createElement("dl");
  summary.textContent = note.user || "not known";
  const parts = {
    Device: note.device, Client: note.client, Received: note.received === undefined ? "" : size(note.received),
    Sent: note.sent === undefined ? "" : size(note.sent), Container: note.container, Environment: note.environment, Database: note.database
  };
  for (const [name, value] of Object.entries(parts)) {
    if (!value) continue;
    const term = document.createElement("dt");
    const text = document.createElement("dd");
    term.className = "faint";
    term.textContent = name;
    text.textContent = value;
    list.append(term, text);
  }
  all.append(summary, list);
  place.append(all);
  row.append(place);
};
const offered = { container: new Set(), endpoint: new Set() };
const offer = (name, select, value) => {
  if (!value || offered[name].has(value)) return;
  offered[name].add(value);
  const option = document.createElement("option");
  option.value = value;
  option.textContent = value;
  select.append(option);
};
const matches = row => {
  const statusClass = Number(kind.value);
  if (statusClass && Math.floor(Number(row.dataset.status) / 100) !== statusClass) return false;
  if (container.value && row.dataset.container !== container.value) return false;
  if (endpoint.value && row.dataset.endpoint !== endpoint.value) return false;
  if (!row.dataset.user.startsWith(user.value.trim())) return false;
  if (kind.value === "failed" && Number(row.dataset.status) < 400) return false;
  if (kind.value === "slow" && Number(row.dataset.milliseconds) < slowMilliseconds) return false;
  return row.dataset.text.includes(search.value.trim().toLowerCase());
};
const tell = () => { none.hidden = [...rows.children].some(row => !row.hidden); };
const filter = () => {
  for (const row of rows.children) row.hidden = !matches(row);
  tell();
};
for (const box of [search, user]) box.addEventListener("input", filter);
for (const choice of [kind, container, endpoint]) choice.addEventListener("change", filter);
const ask = async () => {
  if (isPaused || document.visibilityState !== "visible") return setTimeout(ask, 1000);
  try {
    const answer = await fetch("/console/log.json?after=" + last);
    if (!answer.ok) throw Object.assign(new Error("status " + answer.status), { hasEnded: answer.status === 403 });
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
      details(row, note);
      cell(row, note.request, "id");
      offer("container", container, note.container);
      offer("endpoint", endpoint, note.endpoint);
      row.dataset.container = note.container || "";
      row.dataset.endpoint = note.endpoint;
      row.dataset.user = note.user || "";
      row.dataset.status = note.status;
      row.dataset.milliseconds = note.milliseconds;
      row.dataset.text = [note.method, note.endpoint, note.status, note.error, note.place, note.request].join(" ").toLowerCase();
      row.hidden = !matches(row);
      rows.prepend(row);
      while (rows.children.length > 500) rows.lastElementChild.remove();
    }
    tell();
    state.textContent = "Live.";
  } catch (error) {
    state.textContent = error.hasEnded ? "The session has ended. Load the page again to sign in." : "The server cannot be reached.";
  }
  setTimeout(ask, 1000);
};
ask();
