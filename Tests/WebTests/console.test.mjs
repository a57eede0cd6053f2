// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { Element, Page } from "./page.mjs";

const turn = () => new Promise(resolve => setImmediate(resolve));

const logIDs = ["rows", "state", "pause", "search", "kind", "none", "container", "endpoint", "user"];

test("the log shows what its filters select, of requests that are there and of new ones", async () => {
  const note = (number, status, milliseconds, place) => ({ number, time: 0, method: "POST", endpoint: "records/modify", status, milliseconds, place, request: "r" + number });
  const page = new Page({
    ids: logIDs, answers: [{ notes: [note(1, 200, 1, "iCloud.a"), note(2, 500, 1, "iCloud.b"), note(3, 200, 200, "iCloud.a")] }, { notes: [note(4, 404, 1, "iCloud.A")] }]
  }).run("console.js");
  await turn();
  const shown = () => page.elements.get("rows").children.filter(row => !row.hidden).map(row => row.lastElementChild.textContent).join();
  assert.equal(shown(), "r3,r2,r1");
  page.elements.get("search").value = " iCloud.A";
  await page.elements.get("search").fire("input");
  assert.equal(shown(), "r3,r1");
  page.elements.get("kind").value = "slow";
  await page.elements.get("kind").fire("change");
  assert.equal(shown(), "r3");
  page.elements.get("kind").value = "failed";
  await page.elements.get("kind").fire("change");
  assert.equal(shown(), "");
  await page.elapse(1000);
  await turn();
  assert.equal(shown(), "r4");
});

test("the log's filters select containers, endpoints, classes of statuses and users, and rows have details", async () => {
  const note = (number, container, endpoint, status, user) => ({
    number, time: 0, method: "POST", endpoint, status, milliseconds: 1, request: "r" + number, container, user, client: "mirror", received: 12, sent: 3400
  });
  const page = new Page({ ids: logIDs, answers: [{ notes: [
    note(1, "iCloud.a", "records/modify", 200, "mia"), note(2, "iCloud.b", "records/query", 404, "anonymous"), note(3, "iCloud.a", "records/query", 503, "mia")
  ] }] }).run("console.js");
  await turn();
  const shown = () => page.elements.get("rows").children.filter(row => !row.hidden).map(row => row.lastElementChild.textContent).join();
  const choose = async (id, value) => {
    page.elements.get(id).value = value;
    await page.elements.get(id).fire(id === "user" ? "input" : "change");
  };
  assert.deepEqual(page.elements.get("container").children.map(option => option.value), ["iCloud.a", "iCloud.b"]);
  assert.deepEqual(page.elements.get("endpoint").children.map(option => option.value), ["records/modify", "records/query"]);
  await choose("container", "iCloud.a");
  assert.equal(shown(), "r3,r1");
  await choose("endpoint", "records/query");
  assert.equal(shown(), "r3");
  await choose("container", "");
  await choose("kind", "4");
  assert.equal(shown(), "r2");
  await choose("endpoint", "");
  await choose("kind", "");
  await choose("user", "mi");
  assert.equal(shown(), "r3,r1");
  const texts = page.elements.get("rows").children[0].children[7].texts;
  for (const text of ["mia", "mirror", "12 bytes", "3.4 kB", "iCloud.a"]) assert.ok(texts.includes(text), text);
});

test("the log opens with the request of an address, and says if it isn't there", async () => {
  const note = number => ({ number, time: 0, method: "POST", endpoint: "records/modify", status: 200, milliseconds: 1, request: "R" + number });
  const page = new Page({ ids: logIDs, answers: [{ notes: [note(1), note(2)] }, { notes: [note(3)] }], address: "https://cloud.example/console/log?request=R3" }).run("console.js");
  await turn();
  assert.equal(page.elements.get("search").value, "R3");
  assert.equal(page.elements.get("none").hidden, false);
  await page.elapse(1000);
  await turn();
  assert.equal(page.elements.get("none").hidden, true);
  assert.deepEqual(page.elements.get("rows").children.filter(row => !row.hidden).map(row => row.lastElementChild.textContent), ["R3"]);
});

test("keys mean a page after g, and an action without it", () => {
  const page = new Page().run("console-keys.js");
  const step = (isPrefixed, key) => JSON.parse(page.evaluate(`JSON.stringify(keyStep({ isPrefixed: ${isPrefixed} }, ${JSON.stringify(key)}))`));
  assert.deepEqual(step(false, "g"), { isPrefixed: true, action: null });
  assert.deepEqual(step(true, "j"), { isPrefixed: false, action: { kind: "go", key: "j" } });
  assert.deepEqual(step(true, "g"), { isPrefixed: false, action: { kind: "go", key: "g" } });
  assert.deepEqual(step(false, "j"), { isPrefixed: false, action: { kind: "row", by: 1 } });
  assert.deepEqual(step(false, "?"), { isPrefixed: false, action: { kind: "help" } });
  for (const key of ["x", "Shift", "constructor", "Enter"]) assert.deepEqual(step(false, key), { isPrefixed: false, action: null });
});

test("the log shows the newest request first and asks for later ones only", async () => {
  const note = (number, status) => ({ number, time: 0, method: "POST", endpoint: "records/modify", status, milliseconds: 1.25, request: "r" + number });
  const page = new Page({ ids: logIDs, answers: [{ notes: [note(1, 200), note(2, 500)] }, { notes: [] }] }).run("console.js");
  await turn();
  const rows = page.elements.get("rows");
  assert.deepEqual(rows.children.map(row => row.lastElementChild.textContent), ["r2", "r1"]);
  assert.deepEqual(rows.children.map(row => row.children[3].className), ["number problem", "number good"]);
  assert.equal(rows.children[0].children[5].textContent, "1.3");
  // As the kept requests have it, in UTC.
  assert.equal(rows.children[0].children[0].textContent, "1970-01-01 00:00:00.000");
  await page.elapse(1000);
  await turn();
  assert.deepEqual(page.requests.map(it => it.query.after), ["0", "2"]);
  assert.equal(page.elements.get("state").textContent, "Live.");
});

test("the log says when the server can't be reached, and goes on asking", async () => {
  const page = new Page({ ids: logIDs, answers: [() => { throw new TypeError("offline"); }, { notes: [] }] }).run("console.js");
  await turn();
  assert.equal(page.elements.get("state").textContent, "The server cannot be reached.");
  await page.elapse(1000);
  await turn();
  assert.equal(page.elements.get("state").textContent, "Live.");
});

test("the log says that the session has ended, and goes on after another sign-in", async () => {
  const page = new Page({ ids: logIDs, answers: [{ status: 403, text: "<!doctype html>" }, { notes: [] }] }).run("console.js");
  await turn();
  assert.equal(page.elements.get("state").textContent, "The session has ended. Load the page again to sign in.");
  await page.elapse(1000);
  await turn();
  assert.equal(page.elements.get("state").textContent, "Live.");
});

test("a paused log asks for nothing", async () => {
  const page = new Page({ ids: logIDs, answers: [{ notes: [] }] }).run("console.js");
  await turn();
  await page.elements.get("pause").fire("click");
  assert.equal(page.elements.get("pause").attributes["aria-pressed"], "true");
  await page.elapse(1000);
  await turn();
  assert.equal(page.requests.length, 1);
});

test("the feed shows each record once, where it changed last", async () => {
  const page = new Page({
    ids: ["asks", "changes", "state", "pause", "nothing"], answers: [{
      zones: [{ syncToken: "t2", records: [
        { recordName: "a", recordType: "Post", recordChangeTag: "1", modified: { timestamp: 0 } }, { recordName: "b", recordType: "Post" },
        { recordName: "a", deleted: true }
      ] }]
    }, { zones: [{ syncToken: "t3", records: [] }] }]
  });
  Object.assign(page.elements.get("asks").dataset, { container: "iCloud.n", environment: "development", code: "form-code" });
  Object.assign(page.elements.get("changes").dataset, { scope: "private", zone: "Z", owner: "_o", token: "t1", records: "/console/r/" });
  page.elements.get("nothing").parent = { children: [] };
  page.run("cloudkit.js");
  page.context.CloudKit = page.window.CloudKit;
  page.run("console-cloud.js").run("console-changes.js");
  for (let count = 0; count < 4; count += 1) await turn();
  const rows = page.elements.get("changes");
  assert.deepEqual(rows.children.map(row => row.dataset.name), ["a", "b"]);
  assert.equal(rows.children[0].children[3].textContent + rows.children[0].children[3].texts[0], "deleteddeleted");
  assert.equal(rows.children[1].children[0].children[0].href, "/console/r/b");
  const [request] = page.requests;
  assert.equal(request.headers["X-Tarn-Form"], "form-code");
  assert.equal(request.path, "/console/api/database/1/iCloud.n/development/private/changes/zone");
  assert.deepEqual(JSON.parse(JSON.stringify(request.body.zones[0])), { zoneID: { zoneName: "Z", ownerRecordName: "_o" }, syncToken: "t1" });
  await page.elapse(1500);
  for (let count = 0; count < 4; count += 1) await turn();
  assert.equal(page.requests[1].body.zones[0].syncToken, "t2");
});

test("the feed links to records with names that browsers remove from addresses", async () => {
  const names = [".", "..", "~.", "~~..", "~a", "...", "a/b"];
  const page = new Page({
    ids: ["asks", "changes", "state", "pause", "nothing"],
    answers: [{ zones: [{ syncToken: "t2", records: names.map(recordName => ({ recordName, recordType: "Post" })) }] }]
  });
  Object.assign(page.elements.get("asks").dataset, { container: "iCloud.n", environment: "development", code: "form-code" });
  Object.assign(page.elements.get("changes").dataset, { scope: "private", zone: "Z", owner: "", token: "t1", records: "/console/r/" });
  page.elements.get("nothing").parent = { children: [] };
  page.run("cloudkit.js");
  page.context.CloudKit = page.window.CloudKit;
  page.run("console-cloud.js").run("console-changes.js");
  for (let count = 0; count < 4; count += 1) await turn();
  const rows = [...page.elements.get("changes").children].reverse();
  const links = rows.map(row => row.children[0].children[0].href.slice("/console/r/".length));
  assert.deepEqual(links, ["~.", "~..", "~~.", "~~~..", "~a", "...", "a%2Fb"]);
  assert.equal(rows[1].children[2].children[0].href, "/console/r/~../history");
});

test("the sign-in page hands its token to the origin that asked, and to no other", () => {
  const posted = [];
  const page = new Page({ ids: ["token"] });
  Object.assign(page.elements.get("token").dataset, { token: "secret", origin: "https://app.example" });
  page.window.opener = { postMessage: (message, origin) => posted.push([JSON.parse(JSON.stringify(message)), origin]) };
  page.run("signin.js");
  assert.deepEqual(posted, [[{ ckWebAuthToken: "secret", ckSession: "secret" }, "https://app.example"]]);
});

test("a sign-in page without an opener does nothing", () => {
  assert.doesNotThrow(() => new Page({ ids: ["token"] }).run("signin.js"));
});

test("code of the page of ways is copied as it is shown", async () => {
  const page = new Page({ ids: ["code1"] });
  const button = new Element("button");
  button.hidden = true;
  button.dataset.copies = "code1";
  page.elements.get("code1").textContent = "tarn icloud pull";
  page.parts["button[data-copies]"] = [button];
  page.context.navigator = {};
  page.run("console-reach.js");
  assert.equal(button.hidden, true);
  const copied = [];
  page.context.navigator = { clipboard: { writeText: async text => { if (copied.length > 0) throw new Error(); copied.push(text); } } };
  page.run("console-reach.js");
  assert.equal(button.hidden, false);
  await button.fire("click");
  assert.deepEqual([copied, button.textContent], [["tarn icloud pull"], "Copied"]);
  await button.fire("click");
  assert.equal(button.textContent, "Not copied");
});
