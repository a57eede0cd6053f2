"use strict";
const devices = document.getElementById("devices");
const total = document.getElementById("total");
const state = document.getElementById("state");
const pollMilliseconds = 5000;
const utc = time => new Date(time).toISOString().replace("T", " ").replace("Z", "");
const cell = (row, content, style) => {
  const place = document.createElement("td");
  place.append(content);
  if (style) place.className = style;
  row.append(place);
};
const rowOf = device => {
  const row = document.createElement("tr");
  if (device.account) {
    const link = document.createElement("a");
    link.href = "/console/users/" + encodeURIComponent(device.account);
    link.textContent = device.account;
    cell(row, link);
  } else {
    cell(row, "");
  }
  cell(row, device.label);
  cell(row, device.container);
  cell(row, device.environment);
  cell(row, utc(device.since), "time");
  return row;
};
let shown = "";
const ask = async () => {
  if (document.visibilityState !== "visible") return setTimeout(ask, 1000);
  try {
    const answer = await fetch("/console/devices.json");
    if (!answer.ok) throw Object.assign(new Error("status " + answer.status), { hasEnded: answer.status === 403 });
    const text = await answer.text();
    // Rows that stay the same keep the keyboard's focus.
    if (text !== shown) {
      const list = JSON.parse(text);
      devices.replaceChildren(...list.devices.map(rowOf));
      total.textContent = list.total;
      shown = text;
    }
    state.textContent = "Live.";
  } catch (error) {
    state.textContent = error.hasEnded ? "The session has ended. Load the page again to sign in." : "The server cannot be reached.";
  }
  setTimeout(ask, pollMilliseconds);
};
ask();
