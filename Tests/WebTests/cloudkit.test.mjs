// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { cloud, Page } from "./page.mjs";

/** Values of the page's own realm, as plain ones. */
const plain = value => JSON.parse(JSON.stringify(value));
const rejected = async promise => {
  try { await promise; } catch (error) { return error; }
  assert.fail("nothing was thrown");
};

test("loading the script announces CloudKit", () => {
  const page = new Page().run("cloudkit.js");
  assert.deepEqual(page.events, ["cloudkitloaded"]);
});

test("an unknown constant is an error that lists the known ones", () => {
  const { CloudKit } = cloud();
  assert.equal(CloudKit.DatabaseScope.PRIVATE, "PRIVATE");
  assert.throws(() => CloudKit.DatabaseScope.SECRET, /has no SECRET; it has PUBLIC, PRIVATE, SHARED/);
});

test("a configuration without a way to authenticate is rejected", () => {
  const page = new Page().run("cloudkit.js");
  const configure = container => page.window.CloudKit.configure({ containers: [container] });
  const code = container => { try { configure(container); } catch (error) { return error.ckErrorCode; } };
  assert.equal(code({}), "CONFIGURATION_ERROR");
  assert.equal(code({ containerIdentifier: "iCloud.n" }), "CONFIGURATION_ERROR");
  assert.equal(code({ containerIdentifier: "iCloud.n", serverToServerKeyAuth: {} }), "CONFIGURATION_ERROR");
  assert.equal(code({ containerIdentifier: "iCloud.n", apiTokenAuth: { apiToken: "t" }, server: "no address" }), "CONFIGURATION_ERROR");
  assert.equal(code({ containerIdentifier: "iCloud.n", apiTokenAuth: { apiToken: "t" } }), undefined);
});

test("requests name container, environment and database, and carry the tokens", async () => {
  const page = cloud([{ zones: [] }]);
  await page.container.privateCloudDatabase.fetchAllRecordZones();
  const [request] = page.requests;
  assert.equal(request.path, "/database/1/iCloud.n/development/private/zones/list");
  assert.equal(request.query.ckAPIToken, "api");
  assert.equal(request.query.clientId, "0707070707070707");
  assert.equal(request.query.ckWebAuthToken, undefined);
  assert.equal(page.timers.length, 0, "the timeout of a request ends with it");
});

test("a query sends its filters as fields and follows the continuation marker", async () => {
  const page = cloud([{ records: [{ recordName: "a" }], continuationMarker: "more" }, { records: [{ recordName: "b" }] }]);
  const database = page.container.publicCloudDatabase;
  const query = { recordType: "Post", filterBy: { comparator: "EQUALS", fieldName: "stars", fieldValue: 5 }, sortBy: { fieldName: "stars" } };
  const first = await database.performQuery(query, { resultsLimit: 1, zoneName: "Zone" });
  assert.deepEqual(plain(page.requests[0].body), {
    query: {
      recordType: "Post", filterBy: [{ comparator: "EQUALS", fieldName: "stars", fieldValue: { value: 5 } }], sortBy: [{ fieldName: "stars" }]
    },
    resultsLimit: 1, zoneID: { zoneName: "Zone" }
  });
  assert.equal(first.moreComing, true);
  assert.equal(first.isQueryResponse, true);
  assert.equal(first.isRecordZonesResponse, false);
  const second = await database.performQuery(first);
  assert.equal(page.requests[1].body.continuationMarker, "more");
  assert.equal(second.moreComing, false);
  assert.equal((await rejected(database.performQuery(second))).ckErrorCode, "INVALID_ARGUMENTS");
});

test("a record of a response is fetched and deleted in its own zone", async () => {
  const page = cloud([{ records: [] }, { records: [] }, { records: [] }]);
  const database = page.container.privateCloudDatabase;
  const zoneID = { zoneName: "Notes", ownerRecordName: "_owner" };
  await database.fetchRecords([{ recordName: "a", zoneID }, "b"], { zoneName: "Other" });
  assert.deepEqual(plain(page.requests[0].body), { records: [{ recordName: "a", zoneID }, { recordName: "b" }], zoneID: { zoneName: "Other" } });
  await database.deleteRecords({ recordName: "a", recordChangeTag: "1", zoneID });
  await database.deleteRecords("b", { zoneID });
  assert.deepEqual(plain(page.requests.slice(1).map(request => request.body)), [
    { operations: [{ operationType: "delete", record: { recordName: "a", zoneID, recordChangeTag: "1" } }] },
    { operations: [{ operationType: "forceDelete", record: { recordName: "b" } }], zoneID }
  ]);
});

test("dates, bytes and big integers are encoded with their type", async () => {
  const page = cloud([{ records: [] }]);
  const fields = page.evaluate(`({
    when: new Date(1500), bytes: new Uint8Array([1, 2, 255]), big: 12345678901234567890n, dates: [new Date(1), new Date(2)],
    given: { value: 1, type: "INT64" }, nothing: null, left: undefined
  })`);
  await page.container.privateCloudDatabase.saveRecords({ recordType: "T", fields });
  const [operation] = page.requests[0].body.operations;
  assert.equal(operation.operationType, "create");
  assert.deepEqual(plain(operation.record.fields), {
    when: { value: 1500, type: "TIMESTAMP" }, bytes: { value: "AQL/", type: "BYTES" }, big: { value: "12345678901234567890", type: "INT64" },
    dates: { value: [1, 2], type: "TIMESTAMP_LIST" }, given: { value: 1, type: "INT64" }, nothing: { value: null }
  });
});

test("long byte fields are encoded whole", async () => {
  const page = cloud([{ records: [] }]);
  const bytes = page.evaluate("new Uint8Array(20000).map((_, index) => index % 251)");
  await page.container.privateCloudDatabase.saveRecords({ recordType: "T", fields: { bytes } });
  const sent = Buffer.from(page.requests[0].body.operations[0].record.fields.bytes.value, "base64");
  assert.deepEqual([...sent], [...bytes]);
});

for (const [what, text] of [["a number that isn't finite", "({ n: NaN })"], ["a function", "({ n: () => 1 })"], ["a field without a value", "({ n: { value: undefined } })"]]) {
  test(`${what} is an error and nothing is sent`, async () => {
    const page = cloud();
    const error = await rejected(page.container.privateCloudDatabase.saveRecords({ recordType: "T", fields: page.evaluate(text) }));
    assert.equal(error.ckErrorCode, "INVALID_ARGUMENTS");
    assert.equal(page.requests.length, 0);
  });
}

test("records with a change tag are updated and deleted under it", async () => {
  const page = cloud([{ records: [] }, { records: [] }]);
  const database = page.container.privateCloudDatabase;
  await database.saveRecords([{ recordName: "a", recordChangeTag: "7", fields: {} }]);
  await database.deleteRecords([{ recordName: "a", recordChangeTag: "7" }, "b"]);
  assert.equal(page.requests[0].body.operations[0].operationType, "update");
  assert.deepEqual(plain(page.requests[1].body.operations), [
    { operationType: "delete", record: { recordName: "a", recordChangeTag: "7" } },
    { operationType: "forceDelete", record: { recordName: "b" } }
  ]);
});

test("a batch keeps the order of its operations and fails at commit", async () => {
  const page = cloud([{ records: [] }]);
  const batch = page.container.privateCloudDatabase.newRecordsBatch({ atomic: true });
  await batch.create({ recordName: "a", fields: {} }).forceDelete("b").createOrUpdate({ recordName: "c", recordChangeTag: "1", fields: {} }).commit();
  assert.deepEqual(plain(page.requests[0].body.operations.map(it => it.operationType)), ["create", "forceDelete", "update"]);
  assert.equal(page.requests[0].body.atomic, true);
  const broken = page.container.privateCloudDatabase.newRecordsBatch().create(null).create(7);
  assert.equal((await rejected(broken.commit())).ckErrorCode, "INVALID_ARGUMENTS");
});

test("files are uploaded before the record that has their receipts", async () => {
  const page = cloud([
    { tokens: [{ recordName: "made", fieldName: "photo", url: "https://cloud.example/asset/1" }] },
    { singleFile: { receipt: "r", size: 3 } }, { records: [] }
  ]);
  const photo = new Blob(["abc"]);
  await page.container.privateCloudDatabase.saveRecords({ recordType: "T", fields: { photo, title: "x" } });
  assert.deepEqual(plain(page.requests[0].body.tokens), [{ recordType: "T", fieldName: "photo" }]);
  assert.equal(page.requests[1].url.href, "https://cloud.example/asset/1");
  assert.equal(page.requests[1].body, photo);
  const { record } = page.requests[2].body.operations[0];
  assert.equal(record.recordName, "made");
  assert.deepEqual(plain(record.fields), { photo: { value: { receipt: "r", size: 3 }, type: "ASSETID" }, title: { value: "x" } });
});

test("errors of single items leave the other results", async () => {
  const page = cloud([{ records: [{ recordName: "a" }, { recordName: "b", serverErrorCode: "CONFLICT", reason: "changed" }] }]);
  const response = await page.container.privateCloudDatabase.fetchRecords(["a", "b"]);
  assert.deepEqual(plain(response.records.map(it => it.recordName)), ["a"]);
  assert.equal(response.hasErrors, true);
  assert.equal(response.errors[0].ckErrorCode, "CONFLICT");
  assert.equal(response.errors[0].recordName, "b");
  assert.equal(response.errors[0].isServerError, true);
});

test("a share's participants are sent under the protocol's names", async () => {
  const page = cloud([{ records: [] }]);
  await page.container.privateCloudDatabase.saveRecords({
    recordType: "cloudkit.share", participants: [{ type: "PRIVATE_USER", acceptanceStatus: "PENDING" }]
  });
  assert.deepEqual(plain(page.requests[0].body.operations[0].record.participants), [{ type: "USER", acceptanceStatus: "INVITED" }]);
});

for (const [what, answer, code] of [
  ["text that isn't JSON", { text: "<html>", status: 502 }, "UNEXPECTED_SERVER_RESPONSE"],
  ["JSON that isn't a dictionary", { text: "[]" }, "UNEXPECTED_SERVER_RESPONSE"],
  ["a list of other things", { records: [1] }, "UNEXPECTED_SERVER_RESPONSE"],
  ["the server's own error", { status: 503, serverErrorCode: "TRY_AGAIN_LATER", retryAfter: 9 }, "TRY_AGAIN_LATER"],
  ["a broken connection", () => { throw new TypeError("failed to fetch"); }, "NETWORK_ERROR"]
]) {
  test(`${what} becomes ${code}`, async () => {
    const page = cloud([answer]);
    const error = await rejected(page.container.privateCloudDatabase.fetchRecords("a"));
    assert.equal(error.isCKError, true);
    assert.equal(error.ckErrorCode, code);
  });
}

test("a server that doesn't answer is a network error after the timeout", async () => {
  const page = cloud();
  const request = rejected(page.container.privateCloudDatabase.fetchRecords("a"));
  await new Promise(resolve => setImmediate(resolve));
  await page.elapse(60_000);
  const error = await request;
  assert.equal(error.ckErrorCode, "NETWORK_ERROR");
  assert.match(error.reason, /60 seconds/);
  assert.equal(page.timers.length, 0);
});

test("a late response of an ended session leaves the next one's token", async () => {
  const required = { status: 421, serverErrorCode: "AUTHENTICATION_REQUIRED", redirectURL: "https://login.example/signin" };
  let release;
  const text = new Promise(resolve => { release = resolve; });
  const page = cloud([
    required, { userRecordName: "_me" }, { headers: { "X-Apple-CloudKit-Web-Auth-Token": "stale" }, text }, required, { userRecordName: "_you" }
  ], { apiTokenAuth: { apiToken: "api", persist: true } });
  const signIn = async ckWebAuthToken => {
    const signedIn = page.container.signIn();
    await new Promise(resolve => setImmediate(resolve));
    await page.listeners.message[0]({ origin: "https://login.example", data: { ckWebAuthToken } });
    return signedIn;
  };
  await page.container.setUpAuth();
  await signIn("first");
  const late = page.container.privateCloudDatabase.fetchAllRecordZones();
  await page.container.signOut();
  assert.equal((await signIn("second")).userRecordName, "_you");
  release(JSON.stringify({ zones: [] }));
  await late;
  assert.equal(page.stored.get("cloudkit-token iCloud.n"), "second");
});

test("setUpAuth resolves the promises for signing in and out", async () => {
  const page = cloud([
    { userRecordName: "_me" }, { status: 421, serverErrorCode: "AUTHENTICATION_REQUIRED", redirectURL: "https://login.example/signin" }
  ]);
  const signedIn = page.container.whenUserSignsIn();
  await page.container.setUpAuth();
  assert.equal((await signedIn).userRecordName, "_me");
  const signedOut = page.container.whenUserSignsOut();
  assert.equal(await page.container.setUpAuth(), null);
  await signedOut;
  const next = await Promise.race([page.container.whenUserSignsIn(), new Promise(resolve => setImmediate(resolve, "waiting"))]);
  assert.equal(next, "waiting", "the session is over");
});

test("signing in takes the token of the sign-in page only, rotates and stores it", async () => {
  const page = cloud([
    { status: 421, serverErrorCode: "AUTHENTICATION_REQUIRED", redirectURL: "https://login.example/signin?flow=1" },
    { users: [{ userRecordName: "_me" }] }, { status: 200, headers: { "X-Apple-CloudKit-Web-Auth-Token": "next" }, zones: [] }, { zones: [] }
  ], { apiTokenAuth: { apiToken: "api", persist: true } });
  assert.equal(await page.container.setUpAuth(), null);
  assert.deepEqual(page.elements.get("apple-sign-in-button").texts, ["Sign in"]);
  const signedIn = page.container.signIn();
  await new Promise(resolve => setImmediate(resolve));
  assert.equal(page.opened[0].values[0], "https://login.example/signin?flow=1");
  const [listen] = page.listeners.message;
  await listen({ origin: "https://evil.example", data: { ckWebAuthToken: "stolen" } });
  assert.equal(page.stored.size, 0);
  await listen({ origin: "https://login.example", data: { ckWebAuthToken: "first" } });
  assert.equal((await signedIn).userRecordName, "_me");
  assert.equal(page.requests[1].query.ckWebAuthToken, "first");
  await page.container.privateCloudDatabase.fetchAllRecordZones();
  await page.container.privateCloudDatabase.fetchAllRecordZones();
  assert.equal(page.requests[3].query.ckWebAuthToken, "next");
  assert.equal(page.stored.get("cloudkit-token iCloud.n"), "next");
});

test("a token of an old session is forgotten and the person asked again", async () => {
  const page = new Page({
    answers: [{ status: 401, serverErrorCode: "AUTHENTICATION_FAILED" }, { status: 421, serverErrorCode: "AUTHENTICATION_REQUIRED", redirectURL: "https://l.example/" }]
  }).run("cloudkit.js");
  page.stored.set("cloudkit-token iCloud.n", "old");
  page.window.CloudKit.configure({ containers: [{ containerIdentifier: "iCloud.n", apiTokenAuth: { apiToken: "api", persist: true } }] });
  assert.equal(await page.window.CloudKit.getDefaultContainer().setUpAuth(), null);
  assert.equal(page.requests[0].query.ckWebAuthToken, "old");
  assert.equal(page.requests[1].query.ckWebAuthToken, undefined);
  assert.equal(page.stored.size, 0);
});

test("notifications are parsed and delivered to every listener, and the courier retries with growing pauses", async () => {
  const payload = {
    ck: { nid: "n1", cid: "iCloud.n", qry: { sid: "s", zid: "z", zoid: "_o", dbs: 2, rid: "r", fo: 1, af: { title: "x" } } }, aps: { alert: "Hello", badge: 3 }
  };
  const page = cloud([
    { webcourierURL: "https://cloud.example/courier", apnsToken: "a" }, {}, () => { throw new TypeError("offline"); }, { ...payload }
  ]);
  const received = [];
  page.container.addNotificationListener(() => { throw new Error("a listener that fails"); });
  page.container.addNotificationListener(notification => received.push(notification));
  await page.container.registerForNotifications();
  for (let turn = 0; turn < 4; turn += 1) await new Promise(resolve => setImmediate(resolve));
  assert.ok(page.timers.some(timer => timer.milliseconds === 500));
  await page.elapse(500);
  for (let turn = 0; turn < 4; turn += 1) await new Promise(resolve => setImmediate(resolve));
  const [notification] = received;
  assert.equal(notification.notificationType, "QUERY");
  assert.equal(notification.queryNotificationReason, "RECORD_CREATED");
  assert.equal(notification.databaseScope, "PRIVATE");
  assert.equal(notification.alertBody, "Hello");
  assert.deepEqual(page.events.filter(it => it.startsWith("error")), ["error: a listener that fails"]);
  page.container.unregisterForNotifications();
  assert.equal(page.container.isRegisteredForNotifications, false);
});
