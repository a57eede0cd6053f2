"use strict";
// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// The page of the demo. The demo sends the whole state whenever it changes; the page draws it.
(() => {
  const byID = id => document.getElementById(id);

  const element = (name, attributes, ...children) => {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === "class") node.className = value;
      else node.setAttribute(key, value);
    }
    node.append(...children.filter(child => child !== null));
    return node;
  };

  /** Draws only what changed, so that focus and selections stay. */
  const draw = (node, description, make) => {
    const text = JSON.stringify(description);
    if (node.dataset.drawn === text) return;
    node.dataset.drawn = text;
    node.replaceChildren(...make());
  };

  const actors = [...document.querySelectorAll("[data-actor]")];
  let state = null;

  // MARK: Actions

  let noticeTimer;
  const notice = text => {
    clearTimeout(noticeTimer);
    byID("notice").hidden = text === "";
    byID("notice").textContent = text;
    if (text !== "") noticeTimer = setTimeout(() => notice(""), 10000);
  };

  const send = async path => {
    notice("");
    try {
      const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" } });
      if (answer.ok) return true;
      const text = await answer.text();
      let message = "";
      try { message = JSON.parse(text).error.message; } catch { message = "The demo answered " + answer.status + "."; }
      notice(message);
    } catch {
      notice("The demo does not answer. Is its process running?");
    }
    return false;
  };

  const stateOf = name => name === "server" ? state.server : state.devices.find(device => device.name === name);

  const act = (name, action) => {
    const actor = stateOf(name);
    if (action === "power") return send("actors/" + name + "/" + (actor.power === "running" ? "kill" : "start"));
    return send("actors/" + name + "/" + (actor.isOnline ? "cut" : "restore"));
  };

  for (const actor of actors) {
    actor.addEventListener("click", event => {
      const action = event.target.dataset.action;
      if (action && state) act(actor.dataset.actor, action);
    });
  }

  // MARK: Devices and server

  const plural = (count, word) => count + " " + word + (count === 1 ? "" : "s");

  const factsOf = actor => {
    if (actor.power === "killed") return "killed";
    if (actor.power !== "running") return "starting";
    if (actor.isOnline === undefined) return "process " + actor.processID;
    const facts = ["process " + actor.processID];
    if (!actor.isOnline) facts.push("no network");
    if (actor.pendingCount > 0) facts.push(plural(actor.pendingCount, "record") + " waiting");
    if (actor.conflictCount > 0) facts.push(plural(actor.conflictCount, "conflict"));
    return facts.join(" · ");
  };

  /** Devices that a person adds to the stage, with the buttons that start them. */
  const extras = { Tablet: "tablet-start", Mirror: "mirror-start" };

  const showActor = node => {
    const name = node.dataset.actor;
    const actor = stateOf(name);
    const was = node.dataset.power;
    node.dataset.power = actor.power;
    node.dataset.online = String(actor.isOnline !== false);
    const facts = node.querySelector(".facts");
    if (facts.textContent !== factsOf(actor)) facts.textContent = factsOf(actor);
    for (const button of node.querySelectorAll(".plugs [data-action=power]")) {
      button.textContent = actor.power === "running" ? "Kill" : "Start";
      button.setAttribute("aria-label", (actor.power === "running" ? "Kill the " : "Start the ") + name);
      button.disabled = actor.power === "starting";
    }
    for (const button of node.querySelectorAll("[data-action=network]")) {
      button.textContent = actor.isOnline ? "Cut network" : "Restore network";
      button.setAttribute("aria-label", (actor.isOnline ? "Cut the network of the " : "Restore the network of the ") + name);
      button.disabled = actor.power !== "running";
    }
    const dead = node.querySelector(".dead");
    if (!dead) return;
    // An additional device has no place on the stage until a person starts it.
    if (extras[name]) {
      node.hidden = actor.power === "off";
      const frame = node.querySelector("iframe");
      if (actor.address && frame.getAttribute("src") !== actor.address) frame.setAttribute("src", actor.address);
    }
    dead.hidden = actor.power === "running" || actor.power === "off";
    // The device's page connects again by itself, but only after some seconds.
    if (was && was !== "running" && actor.power === "running") {
      const frame = node.querySelector("iframe");
      frame.src = frame.getAttribute("src");
    }
  };

  // MARK: Journeys

  const milliseconds = value => value < 0.95 ? "<1 ms" : value < 1000 ? value.toFixed(value < 10 ? 1 : 0) + " ms" : (value / 1000).toFixed(1) + " s";
  const length = span => span.ended - span.began;

  /** The steps of a save, in order: its kind, its words, and when it began and ended. */
  const stepsOf = journey => {
    const steps = [{ kind: "save", text: "save", ...journey.save }];
    if (journey.export) steps.push({ kind: "export", text: "export", ...journey.export, took: journey.exportMilliseconds });
    if (journey.commit) steps.push({ kind: "commit", text: "commit", ...journey.commit, took: journey.commitMilliseconds });
    for (const arrival of journey.arrivals) {
      if (arrival.push && journey.commit) {
        steps.push({ kind: "push", text: "push", began: Math.min(journey.commit.began, arrival.push), ended: arrival.push, took: Math.max(0, arrival.push - journey.commit.ended) });
      }
      if (arrival.imported) steps.push({ kind: "import", text: "import on " + arrival.device, ...arrival.imported });
    }
    return steps;
  };

  const endOf = journey => Math.max(...stepsOf(journey).map(step => step.ended), ...journey.arrivals.map(arrival => arrival.shown || 0));
  const isThere = journey => journey.arrivals.some(arrival => arrival.shown || arrival.imported);

  const row = journey => {
    const steps = stepsOf(journey);
    const began = journey.save.began;
    const total = Math.max(1, endOf(journey) - began);
    const track = element("div", { class: "track", "aria-hidden": "true" });
    for (const step of steps) {
      const bar = element("div", { class: "bar " + step.kind });
      bar.style.left = Math.max(0, Math.min(99, 100 * (step.began - began) / total)) + "%";
      bar.style.width = Math.max(0, Math.min(100, 100 * length(step) / total)) + "%";
      track.append(bar);
    }
    const words = steps.map(step => element(
      "li", { class: step.kind }, step.text + " " + milliseconds(step.took === undefined ? length(step) : step.took)));
    const waits = !journey.export && !journey.commit;
    if (waits) words.push(element("li", { class: "waiting" }, journey.failureCount > 0 ? "waits; " + plural(journey.failureCount, "failed attempt") : "waits"));
    const what = plural(journey.saveCount, "save") + " on the " + journey.from;
    const item = element(
      "li", { class: isThere(journey) ? "journey arrived" : "journey", "data-journey": journey.id },
      element("div", { class: "journey-head" }, element("strong", {}, what),
        isThere(journey) ? element("span", { class: "total" }, milliseconds(total)) : element("span", {}, waits ? "in its store" : "on its way")),
      track, element("ol", { class: "steps", "aria-label": "Steps" }, ...words));
    return item;
  };

  const showJourneys = journeys => {
    byID("no-journeys").hidden = journeys.length > 0;
    const shown = journeys.slice(-4).reverse();
    draw(byID("journeys"), shown, () => shown.map(row));
  };

  const clock = time => new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });

  const showLog = log => {
    byID("no-log").hidden = log.length > 0;
    const shown = log.slice(-5).reverse();
    draw(byID("log"), shown, () => shown.map(line => element("li", {}, element("time", {}, clock(line.time)), element("span", {}, line.text))));
  };

  const showRequests = requests => {
    const shown = requests.slice(-10).reverse();
    draw(byID("requests"), shown, () => shown.map(request => element(
      "tr", {}, element("td", {}, request.endpoint), element("td", {}, request.device || ""), element("td", {}, String(request.status)),
      element("td", {}, request.milliseconds.toFixed(1)))));
  };

  // MARK: The third device

  const showGuest = () => {
    const guest = state.guest;
    const device = stateOf("Guest");
    const isRunning = device.power === "running";
    byID("guest-start").hidden = isRunning;
    byID("guest-start").disabled = device.power === "starting";
    byID("guest-code").hidden = !(isRunning && guest.isShared);
    if (isRunning && guest.isShared && !byID("guest-code").src) byID("guest-code").src = "guest.svg";
    byID("guest-link").hidden = !isRunning;
    if (isRunning && byID("guest-link").textContent !== guest.link) {
      byID("guest-link").textContent = guest.link;
      byID("guest-link").href = guest.link;
    }
    const text = !isRunning ? "Another process with an empty store, for the same account."
      : guest.isShared ? "Point your phone's camera at the code. The phone has to be in the same network as this computer."
        : "Open the link in another window. To use a phone, start the demo with --share-on-network: this dialog then shows a QR code.";
    if (byID("guest-text").textContent !== text) byID("guest-text").textContent = text;

    const ben = stateOf("Ben");
    byID("ben-start").hidden = ben.power === "running";
    byID("ben-start").disabled = ben.power === "starting";
    byID("ben-link").hidden = ben.power !== "running";
    if (ben.power === "running" && byID("ben-link").textContent !== ben.address) {
      byID("ben-link").textContent = ben.address;
      byID("ben-link").href = ben.address;
    }
    for (const [name, button] of Object.entries(extras)) {
      const power = stateOf(name).power;
      byID(button).disabled = power !== "off";
      byID(button).textContent = power === "off" ? "Start the " + name.toLowerCase() : power === "starting" ? "Starting" : "On the stage";
    }
    byID("ben-text").textContent = ben.power === "running"
      ? "Share a post on the iPad, and paste its link on Ben's device, under Public board. Notices on the board are for all users."
      : "Another account of the server. Ben sees the public board, and the posts that are shared with him.";
  };

  byID("open-guest").addEventListener("click", () => byID("guest").showModal());
  byID("guest-close").addEventListener("click", () => byID("guest").close());
  byID("guest-start").addEventListener("click", () => send("actors/Guest/start"));
  byID("ben-start").addEventListener("click", () => send("actors/Ben/start"));
  for (const [name, button] of Object.entries(extras)) {
    byID(button).addEventListener("click", async () => {
      if (!await send("actors/" + name + "/start")) return;
      byID("guest").close();
      actors.find(actor => actor.dataset.actor === name).scrollIntoView({ block: "center" });
    });
  }

  // MARK: The tour

  const arrivedSince = time => state.journeys.some(journey => journey.save.began >= time && isThere(journey));
  // A page that falls behind skips states: a plug that was pulled for a moment is in the log only.
  const hasPulled = (kind, memory) => state.log.some(line => line.kind === kind && line.time >= memory.began);
  const isInStep = () => state.verdict.kind === "inStep";

  const tour = [
    {
      title: "A save travels",
      text: "Press New post on the iPad and write. The iPhone shows it. The server pane has the time of each step, from the save to the import.",
      result: memory => arrivedSince(memory.began) && "The save arrived. Your app calls save(), and nothing else."
    },
    {
      title: "Offline edits of one text merge",
      text: "Cut the iPhone's network, change the text of one post on both devices, and restore the network. Both edits stay.",
      see: memory => { if (hasPulled("cut", memory)) memory.wasCut = true; },
      result: memory => memory.wasCut && isInStep() && "Both devices show the same text, with both edits."
    },
    {
      title: "Two titles, one winner, nothing lost",
      text: "Cut the iPhone's network, and give one post another title on each device. The last one wins; a card offers the other one.",
      see: memory => { if (state.devices.some(device => device.conflictCount > 0)) memory.hadConflict = true; },
      result: memory => memory.hadConflict && (state.devices.some(device => device.conflictCount > 0)
        ? "The card is on the iPhone: Restore sets the other title again." : "The choice is saved, and both devices have it.")
    },
    {
      title: "Pull the plug",
      text: "Kill the server. Write on both devices: saves go on. Start the server, and both devices have everything. Kill a device, too.",
      see: memory => { if (hasPulled("kill", memory)) memory.wasKilled = true; },
      result: memory => memory.wasKilled && isInStep() && "Everything is there. See what happened in the server pane."
    },
    {
      title: "Look inside",
      text: "The console shows the server's records, zones and requests; you are signed in as its operator. A third device starts from the server alone.",
      result: () => stateOf("Guest").power === "running" && "The third device runs. Find its link, or its QR code, at More devices."
    }
  ];
  const memories = tour.map(() => ({ began: Infinity, isDone: false }));
  let step = 0;

  const showTour = () => {
    if (byID("tour").hidden) return;
    const memory = memories[step];
    if (tour[step].see) tour[step].see(memory);
    const result = tour[step].result(memory) || "";
    memory.isDone = memory.isDone || result !== "";
    if (byID("tour-result").textContent !== result) byID("tour-result").textContent = result;
    byID("tour-perform").disabled = state.performing !== undefined;
    byID("tour-perform").textContent = state.performing === step + 1 ? "Running" : "Show me";
    byID("tour-next").textContent = step === tour.length - 1 ? "Finish" : "Next";
    draw(byID("tour-steps"), [step, memories.map(memory => memory.isDone)], () => tour.map((entry, index) => {
      const isDone = memories[index].isDone;
      const button = element(
        "button", { type: "button", class: isDone ? "done" : "", "aria-label": "Step " + (index + 1) + ": " + entry.title + (isDone ? ", done" : "") },
        isDone ? "✓" : String(index + 1));
      if (index === step) button.setAttribute("aria-current", "step");
      button.addEventListener("click", () => openStep(index));
      return element("li", {}, button);
    }));
  };

  const openStep = index => {
    step = index;
    if (memories[step].began === Infinity) memories[step].began = Date.now();
    byID("tour-title").textContent = (step + 1) + ". " + tour[step].title;
    byID("tour-text").textContent = tour[step].text;
    showTour();
    byID("tour-title").focus();
  };

  const openTour = isOpen => {
    byID("tour").hidden = !isOpen;
    byID("open-tour").setAttribute("aria-expanded", String(isOpen));
    if (isOpen) openStep(step); else byID("open-tour").focus();
  };
  byID("open-tour").addEventListener("click", () => openTour(byID("tour").hidden));
  byID("tour-close").addEventListener("click", () => openTour(false));
  byID("tour-next").addEventListener("click", () => step === tour.length - 1 ? openTour(false) : openStep(step + 1));
  byID("tour-perform").addEventListener("click", async () => {
    const performed = step;
    if (await send("tour/" + (performed + 1)) && performed === 4) byID("guest").showModal();
  });

  // MARK: The state

  const show = next => {
    state = next;
    for (const actor of actors) showActor(actor);
    byID("verdict").dataset.kind = state.verdict.kind;
    if (byID("verdict").textContent !== state.verdict.text) byID("verdict").textContent = state.verdict.text;
    showJourneys(state.journeys);
    showLog(state.log);
    showRequests(state.requests);
    showGuest();
    showTour();
  };

  const events = new EventSource("events");
  events.addEventListener("state", event => show(JSON.parse(event.data)));
  events.addEventListener("error", () => notice("The demo has ended. Start it again with 'tarn demo'."));
  events.addEventListener("open", () => notice(""));
})();
