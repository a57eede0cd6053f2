// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Looks for what Apple documents of CloudKit JS in /cloudkit.js, and uses what is not used elsewhere. Run with the globals of a page
// that has configured `CloudKit` and signed somebody in; answers what was not as it should be.
async () => {
  const complaints = [];
  const expect = (name, seen, expected) => {
    if (JSON.stringify(seen) !== JSON.stringify(expected)) complaints.push(`${name}: ${JSON.stringify(seen)}, not ${JSON.stringify(expected)}`);
  };
  const container = CloudKit.getDefaultContainer();
  const database = container.privateCloudDatabase;

  // Members.
  const methods = {
    CloudKit: [CloudKit, "configure getAllContainers getContainer getDefaultContainer"],
    Container: [container, "acceptShares addNotificationListener discoverAllContactUserInfos discoverAllUserIdentities discoverUserIdentities "
      + "discoverUserIdentityWithEmailAddress discoverUserIdentityWithPhoneNumber discoverUserIdentityWithUserRecordName "
      + "discoverUserInfoWithEmailAddress discoverUserInfoWithUserRecordName fetchCurrentUserIdentity fetchRecordInfos fetchUserInfo "
      + "getDatabaseWithDatabaseScope getConfig registerForNotifications removeNotificationListener requestApplicationPermission setUpAuth unregisterForNotifications "
      + "whenUserSignsIn whenUserSignsOut"],
    Database: [database, "deleteRecordZones deleteRecords deleteSubscriptions fetchAllRecordZones fetchAllSubscriptions fetchChangedRecordZones "
      + "fetchChangedRecords fetchDatabaseChanges fetchRecordZoneChanges fetchRecordZones fetchRecords fetchSubscriptions newRecordsBatch "
      + "performQuery saveRecordZones saveRecords saveSubscriptions shareWithUI"],
    RecordsBatch: [database.newRecordsBatch(), "commit create createOrUpdate delete forceDelete forceReplace forceUpdate replace update"]
  };
  for (const [owner, [object, names]] of Object.entries(methods)) {
    for (const name of names.split(" ")) expect(`${owner}.${name}`, typeof object[name], "function");
  }
  const constants = {
    DatabaseScope: "PUBLIC PRIVATE SHARED", ReferenceAction: "NONE DELETE_SELF VALIDATE", NotificationType: "QUERY RECORD_ZONE DATABASE",
    SubscriptionType: "QUERY RECORD_ZONE DATABASE", QueryNotificationReason: "RECORD_CREATED RECORD_UPDATED RECORD_DELETED",
    ShareParticipantType: "OWNER PRIVATE_USER PUBLIC_USER UNKNOWN", ShareParticipantAcceptanceStatus: "ACCEPTED PENDING UNKNOWN",
    ShareParticipantPermission: "NONE READ_ONLY READ_WRITE UNKNOWN", AppleIDButtonTheme: "BLACK WHITE WHITE_WITH_OUTLINE"
  };
  for (const [name, keys] of Object.entries(constants)) expect(name, Object.keys(CloudKit[name] || {}).join(" "), keys);
  const codes = "ACCESS_DENIED ATOMIC_ERROR AUTHENTICATION_FAILED AUTHENTICATION_REQUIRED AUTH_PERSIST_ERROR BAD_REQUEST CONFIGURATION_ERROR "
    + "CONFLICT EXISTS INTERNAL_ERROR INVALID_ARGUMENTS NETWORK_ERROR NOT_FOUND QUOTA_EXCEEDED SERVICE_UNAVAILABLE SHARE_UI_TIMEOUT "
    + "SIGN_IN_FAILED THROTTLED TRY_AGAIN_LATER UNEXPECTED_SERVER_RESPONSE UNIQUE_FIELD_ERROR UNKNOWN_ERROR VALIDATING_REFERENCE_ERROR ZONE_NOT_FOUND";
  for (const code of codes.split(" ")) expect(`CKError.${code}`, CloudKit.CKError[code], code);
  expect("ShareRecordType", CloudKit.ShareRecordType, "cloudkit.share");
  // A constant that there is not is an error that says which there are.
  for (const [owner, name, known] of [["CKError", "CONFLICTS", "CONFLICT"], ["DatabaseScope", "PUBLIK", "PUBLIC"], ["SubscriptionType", "ZONE", "RECORD_ZONE"]]) {
    try {
      complaints.push(`${owner}.${name} is ${CloudKit[owner][name]}`);
    } catch (error) {
      expect(`${owner}.${name}`, [error instanceof CloudKit.CKError, error.ckErrorCode, error.reason.includes(known)], [true, "INVALID_ARGUMENTS", true]);
    }
  }
  // A record of a response is fetched and deleted in its own zone.
  await database.saveRecordZones("surface");
  const own = (await database.saveRecords({ recordType: "Jar", recordName: "own", fields: {} }, { zoneID: { zoneName: "surface" } })).records[0];
  expect("fetchRecords of a record", (await database.fetchRecords(own)).records.map(record => record.zoneID.zoneName), ["surface"]);
  expect("deleteRecords of a record", (await database.deleteRecords(own)).hasErrors, false);
  expect("deleteRecords of a record", (await database.fetchRecords("own", { zoneID: { zoneName: "surface" } })).hasErrors, true);
  await database.deleteRecordZones("surface");
  const config = container.getConfig();
  expect("getConfig", [config.containerIdentifier, config.environment, typeof config.apiTokenAuth.apiToken],
    [container.containerIdentifier, container.environment, "string"]);
  config.apiTokenAuth.apiToken = "another";
  if (container.getConfig().apiTokenAuth.apiToken === "another") complaints.push("getConfig gives the configuration away");
  for (const [name, seen] of [["isPublicDatabase", container.publicCloudDatabase], ["isPrivateDatabase", database], ["isSharedDatabase", container.sharedCloudDatabase]]) {
    expect(name, [seen[name], container.privateCloudDatabase.isPublicDatabase], [true, false]);
  }
  try {
    await container.requestApplicationPermission("USER_DISCOVERABILITY");
    complaints.push("requestApplicationPermission asked");
  } catch (error) {
    expect("requestApplicationPermission", [error.ckErrorCode, /discoverUserIdentities/.test(error.reason)], ["SERVICE_UNAVAILABLE", true]);
  }

  // Notifications, of each kind.
  const aps = {
    alert: { body: "b", "loc-key": "k", "loc-args": ["x"], "action-loc-key": "a", "launch-image": "i" }, sound: "s", badge: 3, category: "c"
  };
  const fired = CloudKit.Notification.of({ aps, ck: { cid: "c", nid: "n", qry: { sid: "q", rid: "r", dbs: 1, fo: 2, zid: "z", zoid: "o", af: { f: 1 } } } });
  expect("a query's notification", { ...fired }, {
    notificationID: "n", containerIdentifier: "c", notificationType: CloudKit.NotificationType.QUERY, subscriptionID: "q",
    zoneID: { zoneName: "z", ownerRecordName: "o" }, databaseScope: "PUBLIC", isPublicDatabase: true, isQueryNotification: true,
    isRecordZoneNotification: false, isPruned: false, alertBody: "b", alertLocalizationKey: "k", alertLocalizationArgs: ["x"],
    alertActionLocalizationKey: "a", alertLaunchImage: "i", soundName: "s", badge: 3, category: "c", recordName: "r",
    queryNotificationReason: CloudKit.QueryNotificationReason.RECORD_UPDATED, recordFields: { f: 1 }, fields: { f: 1 }
  });
  expect("the classes of notifications", [
    fired instanceof CloudKit.QueryNotification, fired instanceof CloudKit.Notification,
    CloudKit.Notification.of({ ck: { fet: { sid: "z", zid: "g", dbs: 2 } } }) instanceof CloudKit.RecordZoneNotification,
    CloudKit.Notification.of({ aps: { alert: "text" }, ck: { met: { sid: "d", dbs: 3 } } }).alertBody
  ], [true, true, true, "text"]);
  expect("environments", [CloudKit.DEVELOPMENT_ENVIRONMENT, CloudKit.PRODUCTION_ENVIRONMENT], ["development", "production"]);
  try {
    await database.shareWithUI({ record: { recordName: "r" } });
    complaints.push("shareWithUI shared");
  } catch (error) {
    expect("shareWithUI", [error instanceof CloudKit.CKError, error.ckErrorCode], [true, "SERVICE_UNAVAILABLE"]);
    if (!/cloudkit\.share.*acceptShares/.test(error.reason)) complaints.push("shareWithUI says: " + error.reason);
  }

  // The older forms.
  const zone = { zoneID: { zoneName: "Surface" } };
  await database.saveRecordZones("Surface");
  const me = await container.fetchCurrentUserIdentity();
  expect("fetchUserInfo", (await container.fetchUserInfo()).userRecordName, me.userRecordName);
  expect("contacts", (await container.discoverAllContactUserInfos()).users, []);
  for (const found of [await container.discoverUserInfoWithUserRecordName("_none"), await container.discoverUserInfoWithEmailAddress("no@example.org")]) {
    expect("a user who is not there", found.users.length, 0);
  }
  const before = await database.fetchChangedRecordZones();
  expect("zones", before.zones.some(one => one.zoneID.zoneName === "Surface") && typeof before.syncToken, "string");
  const start = await database.fetchChangedRecords(zone);
  await database.saveRecords({ recordType: "Page", recordName: "p", fields: { n: 1 } }, zone);
  const changed = await database.fetchChangedRecords({ ...zone, syncToken: start.syncToken });
  expect("changed records", [changed.records.map(one => one.recordName), changed.moreComing], [["p"], false]);
  const after = await database.fetchChangedRecordZones({ syncToken: before.syncToken });
  expect("changed zones", after.zones.map(one => one.zoneID.zoneName), ["Surface"]);

  // Each response says of which kind it is.
  const kinds = {
    RecordsResponse: await database.fetchRecords("p", zone), RecordZonesResponse: await database.fetchAllRecordZones(),
    DatabaseChangesResponse: await database.fetchDatabaseChanges(), RecordZoneChangesResponse: await database.fetchRecordZoneChanges(zone),
    SubscriptionsResponse: await database.fetchAllSubscriptions(), UserIdentitiesResponse: await container.discoverUserIdentityWithUserRecordName(me.userRecordName),
    UserInfosResponse: await container.discoverAllContactUserInfos(), RecordInfosResponse: await container.fetchRecordInfos("none"),
    QueryResponse: await database.performQuery({ recordType: "Page", filterBy: { fieldName: "n", comparator: "EQUALS", fieldValue: 1 } }, { ...zone, resultsLimit: 5 })
  };
  for (const [kind, response] of Object.entries(kinds)) {
    expect(kind, [response["is" + kind], response instanceof CloudKit[kind], response instanceof CloudKit.Response], [true, true, true]);
    if (kind !== "QueryResponse") expect(`${kind} is a query's`, response.isQueryResponse, false);
  }
  expect("a query", [kinds.QueryResponse.query.recordType, kinds.QueryResponse.resultsLimit], ["Page", 5]);
  expect("all zones", [kinds.RecordZonesResponse.moreComing, typeof kinds.RecordZonesResponse.syncToken], [false, "string"]);

  // Constants are what is answered.
  await database.saveSubscriptions([{ subscriptionID: "z", subscriptionType: CloudKit.SubscriptionType.RECORD_ZONE, ...zone }]);
  expect("a subscription's type", (await database.fetchSubscriptions("z")).subscriptions[0].subscriptionType, CloudKit.SubscriptionType.RECORD_ZONE);
  const root = (await database.fetchRecords("p", zone)).records[0];
  const shared = await database.saveRecords({
    recordType: "cloudkit.share", recordName: "s", forRecord: { recordName: "p", recordChangeTag: root.recordChangeTag }, publicPermission: "NONE", fields: {},
    participants: [{
      type: "PRIVATE_USER", acceptanceStatus: "PENDING", permission: CloudKit.ShareParticipantPermission.READ_ONLY,
      userIdentity: { lookupInfo: { emailAddress: "ana@example.org" } }
    }]
  }, zone);
  if (shared.hasErrors) complaints.push("a share: " + shared.errors[0].reason);
  else {
    const invited = shared.records[0].participants.find(one => one.type !== CloudKit.ShareParticipantType.OWNER);
    expect("an invitation", [invited.type, invited.acceptanceStatus],
      [CloudKit.ShareParticipantType.PRIVATE_USER, CloudKit.ShareParticipantAcceptanceStatus.PENDING]);
  }

  // Files in fields are sent before their record.
  const text = async asset => (await (await fetch(asset.downloadURL)).text());
  const files = { one: new Blob(["first"]), two: { value: new File(["second"], "two.txt") }, more: [new Blob(["a"]), new Blob(["b"])], n: 7 };
  for (const name of [undefined, "named"]) {
    const answer = await database.saveRecords({ recordType: "Paper", ...(name ? { recordName: name } : {}), fields: files }, zone);
    if (answer.hasErrors) { complaints.push("a record with files: " + answer.errors[0].reason); continue; }
    const saved = answer.records[0];
    expect("files", [await text(saved.fields.one.value), await text(saved.fields.two.value), saved.fields.n.value], ["first", "second", 7]);
    expect("a list of files", [await text(saved.fields.more.value[0]), await text(saved.fields.more.value[1])], ["a", "b"]);
    const other = await database.newRecordsBatch().update({ ...saved, ...zone, fields: { one: { value: new Blob(["third"]), type: "ASSETID" } } }).commit();
    if (other.hasErrors) complaints.push("an update with a file: " + other.errors[0].reason);
    else expect("another file", await text(other.records[0].fields.one.value), "third");
  }
  await database.deleteRecordZones("Surface");
  return complaints;
}
