// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Calls /cloudkit.js with what pages pass by mistake, and lets it meet answers that are none. Whatever is asked ends, and ends in
// an answer or a CKError. Run with the globals of a page that has configured `CloudKit` and signed somebody in; answers what was
// not as it should be.
async () => {
  const complaints = [];
  const container = CloudKit.getDefaultContainer();
  const zone = { zoneID: { zoneName: "Odd" } };
  const database = container.privateCloudDatabase;
  await database.saveRecordZones("Odd");

  /** How something ended: what `tell` says of its answer, the code of its error, or what is wrong with it. */
  const end = async (work, tell) => {
    let promise;
    try { promise = work(); } catch (error) { return "thrown at once: " + error; }
    if (!promise || typeof promise.then !== "function") return "no promise: " + promise;
    const never = new Promise(resolve => setTimeout(() => resolve({ never: true }), 20000));
    try {
      const answer = await Promise.race([promise, never]);
      return answer && answer.never ? "no end" : tell(answer);
    } catch (error) {
      const isOne = error instanceof CloudKit.CKError && error.isCKError && typeof error.ckErrorCode === "string" && error.message;
      return isOne ? error.ckErrorCode : "no CKError: " + error;
    }
  };
  const check = async (name, expected, work, tell = answer => answer.hasErrors ? answer.errors[0].ckErrorCode : "ok") => {
    const seen = await end(work, tell);
    if (!(expected instanceof RegExp ? expected.test(seen) : seen === expected)) complaints.push(`${name}: ${seen}, not ${expected}`);
  };
  const save = fields => database.newRecordsBatch(zone).forceReplace({ recordType: "Odd", recordName: "r", fields }).commit();
  const value = key => answer => answer.hasErrors ? answer.errors[0].ckErrorCode
    : answer.records[0].fields[key] === undefined ? "nothing" : `${answer.records[0].fields[key].type} ${JSON.stringify(answer.records[0].fields[key].value)}`;

  // Values of fields.
  const cyclic = {};
  cyclic.self = cyclic;
  for (const [name, odd] of Object.entries({
    "not a number": NaN, "infinite": -Infinity, "number in a list": [1, NaN], "tagged number": { value: NaN, type: "DOUBLE" },
    "function": () => 1, "symbol": Symbol("s"), "cycle": cyclic, "no date": new Date(NaN), "no value": { value: undefined },
    "file among others": [new Blob(["x"]), 1]
  })) await check(name, "INVALID_ARGUMENTS", () => save({ odd }));
  for (const [name, odd] of Object.entries({
    "number for a text": { value: 7, type: "STRING" }, "fraction of a whole number": { value: 1.5, type: "INT64" },
    "too great a number": { value: 1e300, type: "INT64" }, "unknown type": { value: 1, type: "ODD" }, "list in a list": [[1]],
    "reference without a name": { value: { action: "NONE" }, type: "REFERENCE" }, "bytes that are none": { value: "*", type: "BYTES" },
    "mixed list": { value: [1, "a"], type: "INT64_LIST" }, "time as text": { value: "soon", type: "TIMESTAMP" }
  })) await check(name, "BAD_REQUEST", () => save({ bad: odd }));
  const day = new Date(86400000);
  await check("date", "TIMESTAMP 86400000", () => save({ date: day }), value("date"));
  await check("dates", "TIMESTAMP_LIST [86400000]", () => save({ dates: [day] }), value("dates"));
  await check("tagged date", "TIMESTAMP 86400000", () => save({ date: { value: day } }), value("date"));
  await check("bytes", 'BYTES "AP8H"', () => save({ bytes: new Uint8Array([0, 255, 7]) }), value("bytes"));
  await check("part of a buffer", 'BYTES "/w=="', () => save({ bytes: new Uint8Array([0, 255, 7]).subarray(1, 2) }), value("bytes"));
  await check("buffer", 'BYTES "AA=="', () => save({ bytes: new ArrayBuffer(1) }), value("bytes"));
  await check("great integer", /^INT64 "?9007199254740993"?$|^INT64 9007199254740992$/, () => save({ great: 9007199254740993n }), value("great"));
  await check("reference", 'REFERENCE', () => save({ reference: { value: { recordName: "r", action: "NONE" } } }),
    answer => answer.records[0].fields.reference.type);
  await check("undefined", "nothing", () => save({ none: undefined }), value("none"));
  await check("null", "nothing", () => save({ none: null }), value("none"));
  await check("empty list", "ok", () => save({ list: [] }));
  await check("half a character", /^(BAD_REQUEST|ok)$/, () => save({ text: "\ud800" }));

  // Arguments.
  const odd = [undefined, null, 0, NaN, "", true, {}, [], [null], [undefined], [{}], [7], [[]], () => 1, cyclic, 1n, Symbol("s"), new Date()];
  const methods = {
    performQuery: database, fetchRecords: database, saveRecords: database, deleteRecords: database, fetchRecordZones: database,
    saveRecordZones: database, deleteRecordZones: database, fetchDatabaseChanges: database, fetchRecordZoneChanges: database,
    fetchSubscriptions: database, saveSubscriptions: database, deleteSubscriptions: database, uploadAsset: database,
    discoverUserIdentities: container, discoverUserIdentityWithEmailAddress: container, fetchRecordInfos: container, acceptShares: container
  };
  for (const [name, target] of Object.entries(methods)) {
    await Promise.all(odd.flatMap(first => [
      check(`${name}(${typeof first})`, /^(ok|[A-Z_]+)$/, () => target[name](first, first)),
      check(`${name}(…, ${typeof first})`, /^(ok|[A-Z_]+)$/, () => target[name]("x", first))
    ]));
  }
  for (const first of odd) await check(`batch(${typeof first})`, /^(ok|[A-Z_]+)$/, () => database.newRecordsBatch(first).createOrUpdate(first).commit());
  await check("record without a name", "ok", () => database.saveRecords({ recordType: "Odd", fields: {} }, zone));
  await check("record without a type", "BAD_REQUEST", () => database.saveRecords({ recordName: "n", fields: {} }, zone));
  await check("limit", "INVALID_ARGUMENTS", () => database.performQuery({ recordType: "Odd" }, { ...zone, resultsLimit: NaN }));
  const page = await database.performQuery({ recordType: "Odd", filterBy: { fieldName: "date", comparator: "EQUALS", fieldValue: day } }, zone);
  await check("page after the last", "INVALID_ARGUMENTS", () => database.performQuery(page));

  // Answers. Each container has its own `fetch`, and waits for a second only.
  const reply = (body, status = 200) => async () => new Response(body, { status, headers: { "Content-Type": "text/html" } });
  const broken = () => new ReadableStream({ start(stream) { stream.enqueue(new TextEncoder().encode('{"records":[')); stream.error(new Error("cut")); } });
  const half = () => new ReadableStream({ start(stream) { stream.enqueue(new TextEncoder().encode('{"records":[')); } });
  const answers = {
    "page": [reply("<html>Bad gateway</html>", 502), "UNEXPECTED_SERVER_RESPONSE"], "good page": [reply("<html></html>"), "UNEXPECTED_SERVER_RESPONSE"],
    "nothing": [reply(""), "UNEXPECTED_SERVER_RESPONSE"], "null": [reply("null"), "UNEXPECTED_SERVER_RESPONSE"], "list": [reply("[]"), "UNEXPECTED_SERVER_RESPONSE"],
    "text": [reply('"text"'), "UNEXPECTED_SERVER_RESPONSE"], "no list": [reply('{"records":7,"zones":7,"subscriptions":7,"users":7,"results":7}'), "UNEXPECTED_SERVER_RESPONSE"],
    "items that are none": [reply('{"records":[null],"zones":[null],"subscriptions":[null],"users":[null],"results":[null]}'), "UNEXPECTED_SERVER_RESPONSE"],
    "status": [reply("{}", 500), "UNEXPECTED_SERVER_RESPONSE"], "unknown code": [reply('{"serverErrorCode":"NEW"}', 400), "NEW"],
    "refusal": [async () => { throw new TypeError("refused"); }, "NETWORK_ERROR"], "throws at once": [() => { throw null; }, "NETWORK_ERROR"],
    "cut": [async () => new Response(broken()), "NETWORK_ERROR"], "half": [async () => new Response(half()), "NETWORK_ERROR"],
    "silence": [() => new Promise(() => {}), "NETWORK_ERROR"]
  };
  for (const [name, [fetch, expected]] of Object.entries(answers)) {
    CloudKit.configure({
      containers: [{ containerIdentifier: "iCloud.odd", apiTokenAuth: { apiToken: "t" }, server: "http://127.0.0.1:1" }],
      services: { fetch, timeoutSeconds: 0.3 }
    });
    const own = CloudKit.getDefaultContainer();
    const other = own.publicCloudDatabase;
    await Promise.all([
      ...Object.entries(methods).filter(([method]) => method !== "fetchDatabaseChanges").map(([method, target]) =>
        check(`${name} to ${method}`, expected, () => (target === database ? other : own)[method](["performQuery", "saveRecords"].includes(method) ? { recordType: "T" } : "x", {}))),
      check(`${name} to changes`, expected, () => other.fetchDatabaseChanges()), check(`${name} to setUpAuth`, expected, () => own.setUpAuth()),
      check(`${name} to a batch`, expected, () => other.newRecordsBatch().create({ recordType: "T" }).commit())
    ].concat(check(`${name} to a registration`, expected, () => own.registerForNotifications())));
  }
  for (const wrong of [undefined, null, 7, {}, { containers: {} }, { containers: [{ containerIdentifier: "x" }] },
    { containers: [{ containerIdentifier: "x", apiTokenAuth: { apiToken: "t" }, server: "no address" }] }]) {
    try {
      CloudKit.configure(wrong);
      CloudKit.getDefaultContainer();
      complaints.push("a wrong configuration was taken: " + JSON.stringify(wrong));
    } catch (error) {
      if (error.ckErrorCode !== "CONFIGURATION_ERROR") complaints.push("a wrong configuration: " + error);
    }
  }
  return complaints;
}
