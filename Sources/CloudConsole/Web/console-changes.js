"use strict";
const rows = document.getElementById("changes");
const state = document.getElementById("state");
const pause = document.getElementById("pause");
let token = rows.dataset.token;
let isPaused = false;
const cell = (row, content, style) => {
  const place = document.createElement("td");
  place.append(content);
  if (style) place.className = style;
  row.append(place);
};
const element = (kind, text, style) => {
  const made = document.createElement(kind);
  made.textContent = text;
  if (style) made.className = style;
  return made;
};
const when = stamp => stamp ? new Date(stamp.timestamp).toISOString().replace("T", " ").replace("Z", "") : "";
// Browsers remove the segments "." and "..", also if they are encoded: a "~" in front marks them, as in NameSegment.swift.
const segment = name => (/^~*\.\.?$/.test(name) ? "~" : "") + encodeURIComponent(name);
const show = record => {
  // Each record stands once, where it changed last.
  for (const old of [...rows.children]) if (old.dataset.name === record.recordName) old.remove();
  const row = document.createElement("tr");
  row.dataset.name = record.recordName;
  row.className = "new";
  if (record.deleted) {
    cell(row, element("span", record.recordName, "gone"));
  } else {
    const link = element("a", record.recordName);
    link.href = rows.dataset.records + segment(record.recordName);
    cell(row, link);
  }
  cell(row, record.recordType || "");
  const tag = element("code", record.recordChangeTag || "");
  if (rows.dataset.scope === "shared") {
    cell(row, tag);
  } else {
    const history = document.createElement("a");
    history.href = rows.dataset.records + segment(record.recordName) + "/history";
    history.setAttribute("aria-label", "History of " + record.recordName);
    history.append(tag);
    cell(row, history);
  }
  cell(row, record.deleted ? "deleted" : "modified " + when(record.modified), "time");
  // The newest change is the first.
  rows.prepend(row);
};
const follow = async () => {
  let wait = 1500;
  if (!isPaused && document.visibilityState === "visible") {
    try {
      const answer = await databaseOf(rows).fetchRecordZoneChanges({ zoneID: zoneOf(rows), syncToken: token });
      if (answer.hasErrors) throw answer.errors[0];
      const zone = answer.zones[0];
      token = zone.syncToken;
      for (const record of zone.records) show(record);
      if (zone.records.length) document.getElementById("nothing")?.remove();
      if (zone.moreComing) wait = 0;
      state.textContent = "Live.";
    } catch (error) {
      state.textContent = error.ckErrorCode === "NETWORK_ERROR" ? "The server cannot be reached." : "The feed broke off: " + error.message;
      if (error.isServerError) return;
    }
  }
  setTimeout(follow, wait);
};
pause.addEventListener("click", () => {
  isPaused = !isPaused;
  pause.setAttribute("aria-pressed", String(isPaused));
  state.textContent = isPaused ? "Paused." : "Live.";
});
follow();
