"use strict";
const accesses = document.getElementById("accesses");
const state = document.getElementById("state");
const pollMilliseconds = 5000;
const utc = time => new Date(time).toISOString().replace("T", " ").replace("Z", "");
const ask = async () => {
  if (document.visibilityState !== "visible") return setTimeout(ask, 1000);
  try {
    const answer = await fetch(accesses.dataset.address);
    if (!answer.ok) throw Object.assign(new Error("status " + answer.status), { hasEnded: answer.status === 403 });
    const connected = new Map((await answer.json()).connected.map(device => [device.id, device.since]));
    for (const place of accesses.querySelectorAll("[data-access]")) {
      const since = connected.get(place.dataset.access);
      const text = since === undefined ? "" : utc(since);
      if (place.textContent !== text) place.textContent = text;
    }
    state.textContent = "Live.";
  } catch (error) {
    state.textContent = error.hasEnded ? "The session has ended. Load the page again to sign in." : "The server cannot be reached.";
  }
  setTimeout(ask, pollMilliseconds);
};
ask();
