// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { Element, Page, source } from "./page.mjs";

const turn = () => new Promise(resolve => setImmediate(resolve));

const ids = [...source("TarnCommands/stage.html").matchAll(/ id="([\w-]+)"/g)].map(match => match[1]);

const actor = (name, isDevice) => {
  const node = new Element("figure", name);
  node.dataset.actor = name;
  const power = new Element("button"), network = new Element("button"), frame = new Element("iframe");
  frame.setAttribute("src", "http://127.0.0.1:1");
  node.parts = {
    ".facts": [new Element("p")], ".plugs [data-action=power]": [power], "[data-action=network]": isDevice ? [network] : [],
    ".dead": isDevice ? [new Element("div")] : [], iframe: [frame]
  };
  return node;
};

const device = (name, values = {}) => ({
  name, power: "running", processID: 7, isOnline: true, postCount: 1, pendingCount: 0, conflictCount: 0, phase: "idle", ...values
});

/** Devices that were not started. */
const absent = ["Ben", "Tablet", "Mirror"].map(name => device(name, { power: "off" }));

const state = (values = {}) => ({
  devices: [device("iPad"), device("iPhone"), device("Guest", { power: "off" }), ...absent],
  server: { power: "running", processID: 9, address: "http://127.0.0.1:2" }, journeys: [], requests: [], log: [],
  verdict: { kind: "inStep", text: "Both devices show the same post." }, guest: { isShared: false }, ...values
});

const open = answers => {
  const page = new Page({ ids, answers });
  page.actors = [actor("iPad", true), actor("server", false), actor("iPhone", true), actor("Tablet", true), actor("Mirror", true)];
  page.parts["[data-actor]"] = page.actors;
  page.run("TarnCommands/stage.js");
  page.show = values => page.listeners.state.forEach(listener => listener({ data: JSON.stringify(values) }));
  page.texts = id => page.elements.get(id).texts.join(" | ");
  return page;
};

test("a save has the time of each step, and the total when it arrived", () => {
  const page = open();
  const journey = { id: 1, from: "iPad", save: { began: 1000, ended: 1002 }, saveCount: 1, failureCount: 0, arrivals: [] };
  page.show(state({ journeys: [journey] }));
  assert.match(page.texts("journeys"), /1 save on the iPad \| in its store \| save 2\.0 ms \| waits/);
  page.show(state({ journeys: [{ ...journey, failureCount: 2 }] }));
  assert.match(page.texts("journeys"), /waits; 2 failed attempts/);
  page.show(state({ journeys: [{
    ...journey, export: { began: 1003, ended: 1013 }, commit: { began: 1005, ended: 1006.2 },
    exportMilliseconds: 10, commitMilliseconds: 1.2,
    arrivals: [{ device: "iPhone", push: 1006.1, imported: { began: 1007, ended: 1008 }, shown: 1011 }]
  }] }));
  const shown = page.texts("journeys");
  assert.match(shown, /save 2\.0 ms \| export 10 ms \| commit 1\.2 ms \| push <1 ms \| import on iPhone 1\.0 ms/);
  assert.match(shown, /on the iPad \| 13 ms/);
});

test("a killed device can be started, and its page is loaded again", async () => {
  const page = open([{ text: "" }]);
  const ipad = page.actors[0];
  page.show(state());
  assert.equal(ipad.querySelector(".plugs [data-action=power]").attributes["aria-label"], "Kill the iPad");
  page.show(state({ devices: [device("iPad", { power: "killed", processID: undefined }), device("iPhone"), device("Guest", { power: "off" }), ...absent] }));
  assert.equal(ipad.querySelector(".dead").hidden, false);
  assert.equal(ipad.querySelector(".plugs [data-action=power]").textContent, "Start");
  await ipad.fire("click", { target: { dataset: { action: "power" } } });
  assert.equal(page.requests.at(-1).path, "/actors/iPad/start");
  page.show(state());
  assert.equal(ipad.querySelector(".dead").hidden, true);
  assert.equal(ipad.querySelector("iframe").src, "http://127.0.0.1:1");
});

test("a network is cut and restored", async () => {
  const page = open([{ text: "" }, { text: "" }]);
  page.show(state());
  await page.actors[2].fire("click", { target: { dataset: { action: "network" } } });
  page.show(state({ devices: [device("iPad"), device("iPhone", { isOnline: false, pendingCount: 1 }), device("Guest", { power: "off" }), ...absent] }));
  assert.equal(page.actors[2].querySelector(".facts").textContent, "process 7 · no network · 1 record waiting");
  await page.actors[2].fire("click", { target: { dataset: { action: "network" } } });
  assert.deepEqual(page.requests.map(request => request.path), ["/actors/iPhone/cut", "/actors/iPhone/restore"]);
});

test("an additional device has a place on the stage once it is started", async () => {
  const page = open([{ text: "" }]);
  const tablet = page.actors[3];
  tablet.querySelector("iframe").setAttribute("src", undefined);
  page.show(state());
  assert.equal(tablet.hidden, true);
  page.elements.get("guest").showModal();
  await page.elements.get("tablet-start").fire("click");
  assert.equal(page.requests.at(-1).path, "/actors/Tablet/start");
  assert.equal(page.elements.get("guest").open, false);
  assert.equal(Element.scrolledTo, tablet);
  const others = absent.filter(it => it.name !== "Tablet");
  page.show(state({ devices: [device("iPad"), device("iPhone"), device("Guest", { power: "off" }), device("Tablet", { address: "http://127.0.0.1:9" }), ...others] }));
  assert.equal(tablet.hidden, false);
  assert.equal(tablet.querySelector("iframe").getAttribute("src"), "http://127.0.0.1:9");
  assert.equal(page.elements.get("tablet-start").textContent, "On the stage");
  assert.equal(page.elements.get("tablet-start").disabled, true);
  assert.equal(page.actors[4].hidden, true);
});

test("an action that fails is a notice", async () => {
  const page = open([{ status: 503, text: JSON.stringify({ error: { message: "The server did not start." } }) }]);
  page.show(state({ server: { power: "killed", address: "" } }));
  await page.actors[1].fire("click", { target: { dataset: { action: "power" } } });
  await turn();
  assert.equal(page.elements.get("notice").textContent, "The server did not start.");
});

test("a step of the tour is done when its result is there", () => {
  const page = open();
  page.elements.get("tour").hidden = true;
  page.show(state());
  page.elements.get("open-tour").fire("click");
  assert.equal(page.elements.get("tour-title").textContent, "1. A save travels");
  assert.equal(page.elements.get("tour-result").textContent, "");
  const began = Date.now() + 1000;
  page.show(state({ journeys: [{
    id: 1, from: "iPad", save: { began, ended: began }, saveCount: 1, failureCount: 0, export: { began, ended: began },
    arrivals: [{ device: "iPhone", imported: { began, ended: began + 3 } }]
  }] }));
  assert.match(page.elements.get("tour-result").textContent, /The save arrived/);
  assert.match(page.texts("tour-steps"), /✓/);
});

test("a plug that was pulled for a moment counts, though no state showed it", () => {
  const page = open();
  page.elements.get("tour").hidden = true;
  page.show(state());
  page.elements.get("open-tour").fire("click");
  page.elements.get("tour-next").fire("click");
  page.show(state({ log: [{ kind: "cut", time: 1, text: "before the step" }] }));
  assert.equal(page.elements.get("tour-result").textContent, "");
  page.show(state({ log: [{ kind: "cut", time: Date.now() + 1000, text: "The network of the iPhone is cut." }, { kind: "note", time: Date.now() + 1001, text: "It is back." }] }));
  assert.match(page.elements.get("tour-result").textContent, /with both edits/);
});

test("the code for a phone is shown only if the demo is shared on the network", () => {
  const page = open();
  const running = [device("iPad"), device("iPhone"), device("Guest"), ...absent];
  page.show(state({ devices: running, guest: { isShared: false, link: "http://127.0.0.1:5/" } }));
  assert.equal(page.elements.get("guest-code").hidden, true);
  assert.match(page.elements.get("guest-text").textContent, /--share-on-network/);
  page.show(state({ devices: running, guest: { isShared: true, link: "http://10.0.0.2:5/?key=k" } }));
  assert.equal(page.elements.get("guest-code").hidden, false);
  assert.equal(page.elements.get("guest-link").href, "http://10.0.0.2:5/?key=k");
});
