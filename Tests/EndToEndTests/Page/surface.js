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
      + "getDatabaseWithDatabaseScope registerForNotifications removeNotificationListener setUpAuth unregisterForNotifications "
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
