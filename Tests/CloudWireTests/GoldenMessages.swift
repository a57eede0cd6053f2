// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

private let garden = ZoneID(zoneName: "Garden", ownerRecordName: "_7a1c")

private var sage: Record {
    var record = Record(
        recordName: "p1", recordType: "Plant", recordChangeTag: "a", zoneID: garden,
        fields: [
            "name": Field(.string("Sage")), "count": Field(.int64(3)), "height": Field(.double(0.25)),
            "planted": Field(.timestamp(1_893_456_000_000)), "seed": Field(.bytes([0xFF, 0x00])),
        ])
    record.created = RecordStamp(timestamp: 1_893_553_445_000, userRecordName: "_7a1c", deviceID: "3A0D")
    record.modified = RecordStamp(timestamp: 1_893_560_000_123, userRecordName: "_7a1c")
    return record
}

private let sageJSON =
    #"{"recordName":"p1","recordType":"Plant","recordChangeTag":"a","#
    + #""zoneID":{"zoneName":"Garden","ownerRecordName":"_7a1c"},"#
    + #""created":{"timestamp":1893553445000,"userRecordName":"_7a1c","deviceID":"3A0D"},"#
    + #""modified":{"timestamp":1893560000123,"userRecordName":"_7a1c"},"fields":{"#
    + #""count":{"type":"INT64","value":3},"height":{"type":"DOUBLE","value":0.25},"#
    + #""name":{"type":"STRING","value":"Sage"},"planted":{"type":"TIMESTAMP","value":1893456000000},"#
    + #""seed":{"type":"BYTES","value":"/wA="}}}"#

private var structured: Record {
    var spot = RecordLocation(latitude: 48.137, longitude: 11.575)
    spot.horizontalAccuracy = 8
    spot.timestamp = 5
    var photo = AssetValue(fileChecksum: "AQ3f", size: 48_211, receipt: "Ax0")
    photo.wrappingKey = "u8kq"
    return Record(
        recordName: "p2",
        fields: [
            "bed": Field(.reference(RecordReference(recordName: "bed-7", zoneID: garden, action: .deleteSelf))),
            "empty": Field(.list([], of: nil)), "none": Field(nil),
            "photo": Field(.asset(photo)), "secret": Field(.string("x"), isEncrypted: true),
            "spot": Field(.location(spot)), "tags": Field(.list([.string("a"), .string("b")], of: .string)),
        ])
}

private let structuredJSON =
    #"{"recordName":"p2","fields":{"bed":{"type":"REFERENCE","value":{"recordName":"bed-7","action":"DELETE_SELF","#
    + #""zoneID":{"zoneName":"Garden","ownerRecordName":"_7a1c"}}},"empty":{"type":"EMPTY_LIST","value":[]},"#
    + #""none":{"value":null},"photo":{"type":"ASSETID","value":{"fileChecksum":"AQ3f","size":48211,"receipt":"Ax0","#
    + #""wrappingKey":"u8kq"}},"secret":{"isEncrypted":true,"type":"STRING","value":"x"},"#
    + #""spot":{"type":"LOCATION","value":{"latitude":48.137,"longitude":11.575,"horizontalAccuracy":8.0,"timestamp":5}},"#
    + #""tags":{"type":"STRING_LIST","value":["a","b"]}}}"#

private var conflict: WireError {
    var error = WireError(.conflict, "client oplock error updating record")
    error.uuid = "f7c7"
    return error
}

let recordGoldens: [Golden] = [
    Golden(sage, sageJSON),
    Golden(structured, structuredJSON),
    Golden(
        ModifyRecordsRequest(
            operations: [
                RecordOperation(.create, Record(recordName: "p1", recordType: "Plant", fields: ["n": Field(.string("S"))])),
                RecordOperation(.update, Record(recordName: "p2", recordChangeTag: "9", fields: ["note": Field(nil)])),
                RecordOperation(.forceDelete, Record(recordName: "p3"), desiredKeys: []),
            ],
            zoneID: ZoneID(zoneName: "Garden"), atomic: false, desiredKeys: ["n"]),
        #"{"zoneID":{"zoneName":"Garden"},"atomic":false,"desiredKeys":["n"],"operations":["#
            + #"{"operationType":"create","record":{"recordName":"p1","recordType":"Plant","#
            + #""fields":{"n":{"type":"STRING","value":"S"}}}},"#
            + #"{"operationType":"update","record":{"recordName":"p2","recordChangeTag":"9","#
            + #""fields":{"note":{"value":null}}}},"#
            + #"{"operationType":"forceDelete","record":{"recordName":"p3","fields":{}},"desiredKeys":[]}]}"#),
    Golden(
        ModifyRecordsResponse(results: [
            .record(sage), .record(Record(recordName: "p3", recordType: "Plant", isDeleted: true)),
            .failure(recordName: "p2", conflict, serverRecord: Record(recordName: "p2", recordChangeTag: "b")),
            .failure(recordName: "p4", WireError(.throttled, "slow down", retryAfter: 2.5), serverRecord: nil),
        ]),
        #"{"records":["# + sageJSON + #",{"recordName":"p3","recordType":"Plant","deleted":true},"#
            + #"{"recordName":"p2","uuid":"f7c7","serverErrorCode":"CONFLICT","#
            + #""reason":"client oplock error updating record","#
            + #""serverRecord":{"recordName":"p2","recordChangeTag":"b","fields":{}}},"#
            + #"{"recordName":"p4","serverErrorCode":"THROTTLED","reason":"slow down","retryAfter":2.5}]}"#),
    Golden(
        LookupRecordsRequest(
            records: [.init(recordName: "p1"), .init(recordName: "p2", desiredKeys: ["n"])], zoneID: garden,
            desiredKeys: []),
        #"{"zoneID":{"zoneName":"Garden","ownerRecordName":"_7a1c"},"desiredKeys":[],"#
            + #""records":[{"recordName":"p1"},{"recordName":"p2","desiredKeys":["n"]}]}"#),
    Golden(
        LookupRecordsResponse(results: [.failure(recordName: "p", WireError(.notFound, "no"), serverRecord: nil)]),
        #"{"records":[{"recordName":"p","serverErrorCode":"NOT_FOUND","reason":"no"}]}"#),
]

let feedGoldens: [Golden] = [
    Golden(DatabaseChangesRequest(), "{}"),
    Golden(DatabaseChangesRequest(syncToken: "t", resultsLimit: 10), #"{"syncToken":"t","resultsLimit":10}"#),
    Golden(
        DatabaseChangesResponse(
            zones: [
                ZoneChange(zoneID: garden, syncToken: "F"),
                ZoneChange(zoneID: ZoneID(zoneName: "Old"), isDeleted: true),
                ZoneChange(zoneID: ZoneID(zoneName: "Gone"), isDeleted: true, deletionReason: .purged),
                ZoneChange(zoneID: ZoneID(zoneName: "Keys"), isDeleted: true, deletionReason: .encryptedDataReset),
            ], syncToken: "4", moreComing: true),
        #"{"zones":[{"zoneID":{"zoneName":"Garden","ownerRecordName":"_7a1c"},"syncToken":"F","atomic":true},"#
            + #"{"zoneID":{"zoneName":"Old"},"deleted":true},"#
            + #"{"zoneID":{"zoneName":"Gone"},"deleted":true,"deletionReason":"purged"},"#
            + #"{"zoneID":{"zoneName":"Keys"},"deleted":true,"deletionReason":"encryptedDataReset"}],"#
            + #""syncToken":"4","moreComing":true}"#),
    Golden(
        ZoneChangesRequest(
            zones: [
                ZoneChangesQuery(
                    zoneID: ZoneID(zoneName: "G"), syncToken: "F", resultsLimit: 7, desiredKeys: [],
                    desiredRecordTypes: ["Plant"])
            ], resultsLimit: 100),
        #"{"zones":[{"zoneID":{"zoneName":"G"},"syncToken":"F","resultsLimit":7,"desiredKeys":[],"#
            + #""desiredRecordTypes":["Plant"]}],"resultsLimit":100}"#),
    Golden(
        ZoneChangesResponse(zones: [
            .changes(
                ZoneChanges(
                    zoneID: ZoneID(zoneName: "G"),
                    records: [sage, Record(recordName: "p3", recordType: "Plant", isDeleted: true)], syncToken: "K",
                    moreComing: false)),
            .failure(
                ZoneID(zoneName: "H"),
                WireError(.badRequest, "sync token is too old", nativeCode: .changeTokenExpired)),
        ]),
        #"{"zones":[{"zoneID":{"zoneName":"G"},"syncToken":"K","moreComing":false,"records":["# + sageJSON
            + #",{"recordName":"p3","recordType":"Plant","deleted":true}]},"#
            + #"{"zoneID":{"zoneName":"H"},"serverErrorCode":"BAD_REQUEST","reason":"sync token is too old","#
            + #""nativeErrorCode":21}]}"#),
    Golden(
        ZonesModifyRequest(operations: [.create(ZoneID(zoneName: "G")), .delete(ZoneID(zoneName: "H"))]),
        #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"G"}}},"#
            + #"{"operationType":"delete","zone":{"zoneID":{"zoneName":"H"}}}]}"#),
    Golden(ZonesLookupRequest(zones: [.defaultZone]), #"{"zones":[{"zoneName":"_defaultZone"}]}"#),
    Golden(
        ZonesResponse(zones: [
            .zone(Zone(zoneID: .defaultZone, syncToken: "B", atomic: false)), .deleted(ZoneID(zoneName: "H")),
            .failure(ZoneID(zoneName: "I"), WireError(.zoneNotFound, "zone not found")),
            .zone(Zone(zoneID: ZoneID(zoneName: "G"), shareName: "cloudkit.zoneshare")), .failure(ZoneID(zoneName: "K"), lostKeys),
        ]),
        #"{"zones":[{"zoneID":{"zoneName":"_defaultZone"},"syncToken":"B","atomic":false},"#
            + #"{"zoneID":{"zoneName":"H"},"deleted":true},"#
            + #"{"zoneID":{"zoneName":"I"},"serverErrorCode":"ZONE_NOT_FOUND","reason":"zone not found"},"#
            + #"{"zoneID":{"zoneName":"G"},"atomic":true,"share":{"recordName":"cloudkit.zoneshare"}},"#
            + #"{"zoneID":{"zoneName":"K"},"serverErrorCode":"ZONE_NOT_FOUND","reason":"gone","didResetEncryptedData":true}]}"#),
]

private var spokenIdentity: UserIdentity {
    var identity = UserIdentity(userRecordName: "_7a1c", givenName: "Siân")
    (identity.name.namePrefix, identity.name.nameSuffix, identity.name.nickname) = ("Dr", "Jr", "S")
    var phonetic = NameComponents(givenName: "Sharn")
    phonetic.middleName = "Em"
    identity.name.phoneticRepresentation = phonetic
    return identity
}

private var lostKeys: WireError {
    var error = WireError(.zoneNotFound, "gone")
    error.didResetEncryptedData = true
    return error
}

private let plants = QuerySubscription(
    query: Query(
        recordType: "Plant",
        filters: [
            QueryFilter(.field("bed"), .equals, .reference(RecordReference(recordName: "bed-7"))),
            QueryFilter(.system(.modifiedTimestamp), .greaterThan, .timestamp(4), distance: 1.5),
        ],
        sorts: [QuerySort(.field("name"), ascending: false)]),
    firesOn: [.delete, .create], firesOnce: true, zoneID: ZoneID(zoneName: "G"))

let otherGoldens: [Golden] = [
    Golden(
        SubscriptionsModifyRequest(operations: [
            .create(Subscription(subscriptionID: "db", kind: .database, notification: .silent)),
            .update(Subscription(subscriptionID: "z", kind: .zone(ZoneID(zoneName: "G")))),
            .delete(subscriptionID: "old"),
        ]),
        #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"db","#
            + #""subscriptionType":"database","notificationInfo":{"shouldSendContentAvailable":true}}},"#
            + #"{"operationType":"update","subscription":{"subscriptionID":"z","subscriptionType":"zone","#
            + #""zoneID":{"zoneName":"G"}}},{"operationType":"delete","subscription":{"subscriptionID":"old"}}]}"#),
    Golden(SubscriptionsLookupRequest(subscriptionIDs: ["a"]), #"{"subscriptions":[{"subscriptionID":"a"}]}"#),
    Golden(
        SubscriptionsResponse(subscriptions: [
            .subscription(Subscription(subscriptionID: "q", kind: .query(plants))), .deleted(subscriptionID: "old"),
            .failure(subscriptionID: "x", WireError(.notFound, "no such subscription")),
        ]),
        #"{"subscriptions":[{"subscriptionID":"q","subscriptionType":"query","zoneID":{"zoneName":"G"},"zoneWide":false,"#
            + #""query":{"recordType":"Plant","filterBy":[{"fieldName":"bed","comparator":"EQUALS","#
            + #""fieldValue":{"type":"REFERENCE","value":{"recordName":"bed-7","action":"NONE"}}},"#
            + #"{"systemFieldName":"modifiedTimestamp","comparator":"GREATER_THAN","#
            + #""fieldValue":{"type":"TIMESTAMP","value":4},"distance":1.5}],"#
            + #""sortBy":[{"fieldName":"name","ascending":false}]},"firesOn":["create","delete"],"firesOnce":true},"#
            + #"{"subscriptionID":"old","deleted":true},"#
            + #"{"subscriptionID":"x","serverErrorCode":"NOT_FOUND","reason":"no such subscription"}]}"#),
    Golden(
        UserIdentity(userRecordName: "_7a1c", givenName: "Mia", familyName: "Ott"),
        #"{"userRecordName":"_7a1c","nameComponents":{"givenName":"Mia","familyName":"Ott"}}"#),
    Golden(
        spokenIdentity,
        #"{"userRecordName":"_7a1c","nameComponents":{"namePrefix":"Dr","givenName":"Siân","nameSuffix":"Jr","nickname":"S","#
            + #""phoneticRepresentation":{"givenName":"Sharn","middleName":"Em"}}}"#),
    Golden(
        UserIdentity(userRecordName: "", lookupInfo: .emailAddress("ana@example.org")),
        #"{"lookupInfo":{"emailAddress":"ana@example.org"}}"#),
    Golden(
        sharedRoot,
        #"{"recordName":"bed-7","recordType":"Plant","parent":{"recordName":"bed"},"share":{"recordName":"s"},"#
            + #""shortGUID":"0Ab3","fields":{}}"#),
    Golden(
        shareRecord,
        #"{"recordName":"s","recordType":"cloudkit.share","shortGUID":"0Ab3","forRecord":{"recordName":"bed-7"},"#
            + #""publicPermission":"READ_ONLY","participants":[{"participantId":"1","userIdentity":{"userRecordName":"_7a1c"},"#
            + #""type":"OWNER","permission":"READ_WRITE","acceptanceStatus":"ACCEPTED"},"#
            + #"{"participantId":"2","userIdentity":{"lookupInfo":{"emailAddress":"ana@example.org"}},"#
            + #""type":"USER","permission":"READ_ONLY","acceptanceStatus":"INVITED"}],"#
            + #""owner":{"participantId":"1","userIdentity":{"userRecordName":"_7a1c"},"#
            + #""type":"OWNER","permission":"READ_WRITE","acceptanceStatus":"ACCEPTED"},"#
            + #""currentUserParticipant":{"participantId":"1","userIdentity":{"userRecordName":"_7a1c"},"#
            + #""type":"OWNER","permission":"READ_WRITE","acceptanceStatus":"ACCEPTED"},"fields":{}}"#),
    Golden(
        ShortGUIDsRequest(shortGUIDs: [ShortGUID(value: "0Ab3", shouldFetchRootRecord: true, rootRecordDesiredKeys: ["name"])]),
        #"{"shortGUIDs":[{"value":"0Ab3","shouldFetchRootRecord":true,"rootRecordDesiredKeys":["name"]}]}"#),
    Golden(
        PushTokenRequest(apnsEnvironment: .development, clientID: "page"),
        #"{"apnsEnvironment":"development","clientId":"page"}"#),
    Golden(
        AssetUploadRequest(items: [.init(recordType: "Plant", recordName: "p1", fieldName: "photo")]),
        #"{"zoneID":{"zoneName":"_defaultZone"},"#
            + #""tokens":[{"recordType":"Plant","recordName":"p1","fieldName":"photo"}]}"#),
    Golden(
        AssetUploadResponse(results: [
            .address(AssetUploadAddress(recordName: "p1", fieldName: "photo", url: "/u/9f2c?sig=1")),
            .failure(recordName: "p2", fieldName: "photo", WireError(.quotaExceeded, "full")),
        ]),
        #"{"tokens":[{"recordName":"p1","fieldName":"photo","url":"/u/9f2c?sig=1"},"#
            + #"{"recordName":"p2","fieldName":"photo","serverErrorCode":"QUOTA_EXCEEDED","reason":"full"}]}"#),
    Golden(
        AssetUploadReceipt(asset: AssetValue(fileChecksum: "AQ3f", size: 5, receipt: "Ax0")),
        #"{"singleFile":{"fileChecksum":"AQ3f","size":5,"receipt":"Ax0"}}"#),
    Golden(
        PushNotification(
            notificationID: "0f2e", containerIdentifier: "iCloud.n", subscriptionID: "s", subject: .database(.private),
            userRecordName: "_7a1c"),
        #"{"aps":{"content-available":1},"ck":{"ce":2,"cid":"iCloud.n","ckuserid":"_7a1c","nid":"0f2e","#
            + #""met":{"sid":"s","dbs":2}}}"#),
    Golden(
        PushNotification(
            notificationID: "1", containerIdentifier: "iCloud.n", subscriptionID: "s", subject: .zone(garden, .shared),
            isContentAvailable: false, isPruned: true),
        #"{"aps":{},"ck":{"ce":2,"cid":"iCloud.n","nid":"1","p":1,"#
            + #""fet":{"sid":"s","zid":"Garden","zoid":"_7a1c","dbs":3}}}"#),
    Golden(
        PushNotification(
            notificationID: "1", containerIdentifier: "iCloud.n", subscriptionID: "s",
            subject: .query(.init(recordName: "r", zoneID: .defaultZone, scope: .public, reason: .recordUpdated))),
        #"{"aps":{"content-available":1},"ck":{"ce":2,"cid":"iCloud.n","nid":"1","#
            + #""qry":{"sid":"s","rid":"r","zid":"_defaultZone","dbs":1,"fo":2}}}"#),
    Golden(
        pushed,
        #"{"aps":{"content-available":1},"ck":{"ce":2,"cid":"iCloud.n","nid":"1","met":{"sid":"s","dbs":2}},"#
            + #""changes":{"previousSyncToken":"t1","previousDatabaseToken":"d1","databaseToken":"d2","#
            + #""zone":{"zoneID":{"zoneName":"Garden","ownerRecordName":"_7a1c"},"syncToken":"t2","moreComing":false,"#
            + #""records":[{"recordName":"p1","recordType":"Plant","deleted":true}]}}}"#),
    Golden(
        WireError(.tryAgainLater, "busy", retryAfter: 12),
        #"{"serverErrorCode":"TRY_AGAIN_LATER","reason":"busy","retryAfter":12}"#),
    Golden(
        WireError(.tryAgainLater, "in doubt", retryAfter: 1, nativeCode: .serverResponseLost),
        #"{"serverErrorCode":"TRY_AGAIN_LATER","reason":"in doubt","retryAfter":1,"nativeErrorCode":34}"#),
]

private var pushed: PushNotification {
    var notification = PushNotification(
        notificationID: "1", containerIdentifier: "iCloud.n", subscriptionID: "s", subject: .database(.private))
    let gone = Record(recordName: "p1", recordType: "Plant", isDeleted: true)
    notification.changes = PushedChanges(
        previousSyncToken: "t1", page: ZoneChanges(zoneID: garden, records: [gone], syncToken: "t2", moreComing: false),
        previousDatabaseToken: "d1", databaseToken: "d2")
    return notification
}

private var sharedRoot: Record {
    var record = Record(recordName: "bed-7", recordType: "Plant")
    record.sharing.parent = "bed"
    record.sharing.share = "s"
    record.sharing.shortGUID = "0Ab3"
    return record
}

private var shareRecord: Record {
    var record = Record(recordName: "s", recordType: ShareDetails.recordType)
    record.sharing.shortGUID = "0Ab3"
    record.sharing.details = ShareDetails(
        rootRecordName: "bed-7", publicPermission: .readOnly,
        participants: [
            ShareParticipant(
                participantID: "1", identity: UserIdentity(userRecordName: "_7a1c"), kind: .owner, permission: .readWrite,
                status: .accepted),
            ShareParticipant(
                participantID: "2", identity: UserIdentity(userRecordName: "", lookupInfo: .emailAddress("ana@example.org")),
                permission: .readOnly),
        ])
    record.sharing.details?.currentParticipantID = "1"
    return record
}
