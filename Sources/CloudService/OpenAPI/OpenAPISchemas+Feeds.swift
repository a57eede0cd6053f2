// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

extension OpenAPISchemas {
    /// Zones, changes, subscriptions and notifications.
    static var feeds: [(key: String, value: JSONTree)] {
        [
            (
                key: "Zone",
                value: object(
                    ["zoneID": ref("ZoneID"), "syncToken": string, "atomic": flag, "deleted": flag, "share": ref("RecordName")],
                    required: ["zoneID"])
            ),
            (
                key: "ZonesResponse",
                value: object(
                    [
                        "zones": list(either(ref("Zone"), failed(["zoneID": ref("ZoneID")]))), "syncToken": string, "moreComing": flag,
                    ], required: ["zones"])
            ),
            (key: "ZonesLookupRequest", value: object(["zones": list(ref("ZoneID"))], required: ["zones"])),
            (
                key: "ZonesModifyRequest",
                value: object(
                    [
                        "operations": list(
                            object(
                                [
                                    "operationType": choice(["create", "delete"]),
                                    "zone": object(["zoneID": ref("ZoneID")], required: ["zoneID"]),
                                ], required: ["operationType", "zone"]))
                    ], required: ["operations"])
            ),
            (
                key: "ZoneChange",
                value: object(
                    [
                        "zoneID": ref("ZoneID"), "syncToken": string, "atomic": flag, "deleted": flag,
                        "deletionReason": choice(ZoneDeletionReason.allCases.map(\.rawValue)),
                    ], required: ["zoneID"])
            ),
            (key: "DatabaseChangesRequest", value: object(["syncToken": syncToken, "resultsLimit": limit])),
            (
                key: "DatabaseChangesResponse",
                value: object(
                    ["zones": list(ref("ZoneChange")), "syncToken": string, "moreComing": flag],
                    required: ["zones", "syncToken", "moreComing"])
            ),
            (key: "ChangedZonesRequest", value: object(["metaSyncToken": syncToken, "resultsLimit": limit])),
            (
                key: "ChangedZonesResponse",
                value: object(
                    ["zones": list(ref("ZoneChange")), "metaSyncToken": string, "moreComing": flag],
                    required: ["zones", "metaSyncToken", "moreComing"])
            ),
            (
                key: "RecordChangesRequest",
                value: object(
                    [
                        "zoneID": ref("ZoneID"), "syncToken": syncToken, "savedSyncToken": syncToken, "resultsLimit": limit,
                        "desiredKeys": desiredKeys,
                        "desiredRecordTypes": list(recordType), "reverse": flag, "numbersAsStrings": flag,
                    ], required: ["zoneID"])
            ),
            (
                key: "RecordChangesResponse",
                value: object(
                    ["records": list(ref("Record")), "syncToken": string, "moreComing": flag, "reverse": flag],
                    required: ["records", "syncToken", "moreComing"])
            ),
            (
                key: "ZoneChangesRequest",
                value: object(
                    [
                        "zones": list(
                            object(
                                [
                                    "zoneID": ref("ZoneID"), "syncToken": syncToken, "resultsLimit": limit,
                                    "desiredKeys": desiredKeys, "desiredRecordTypes": list(recordType), "reverse": flag,
                                    "numbersAsStrings": flag,
                                ], required: ["zoneID"])),
                        "resultsLimit": limit, "desiredKeys": desiredKeys, "desiredRecordTypes": list(recordType), "reverse": flag,
                        "numbersAsStrings": flag,
                    ], required: ["zones"])
            ),
            (
                key: "ZoneChangesResponse",
                value: object(
                    [
                        "zones": list(
                            either(
                                object(
                                    [
                                        "zoneID": ref("ZoneID"), "syncToken": string, "moreComing": flag,
                                        "records": list(ref("Record")), "remaining": ["type": "integer", "minimum": 0],
                                        "clientChangeToken": ["type": "string", "contentEncoding": "base64"],
                                        "snapshot": ref("SnapshotOffer"),
                                    ], required: ["zoneID", "syncToken", "moreComing", "records"]),
                                failed(["zoneID": ref("ZoneID")])))
                    ], required: ["zones"])
            ),
            (
                key: "SnapshotOffer",
                value: object(
                    [
                        "identifier": ["type": "string", "pattern": "^[0-9a-f]{32}$"], "byteCount": ["type": "integer", "minimum": 1],
                        "recordCount": ["type": "integer", "minimum": 0],
                        "digest": ["type": "string", "contentEncoding": "base64"], "syncToken": string,
                    ], required: ["identifier"])
            ),
            (key: "NotificationInfo", value: notificationInfo),
            (
                key: "Subscription",
                value: object(
                    [
                        "subscriptionID": text("all", "garden", "plants", least: 1),
                        "subscriptionType": choice(["database", "zone", "query"]), "zoneID": ref("ZoneID"), "query": ref("Query"),
                        "firesOn": list(choice(QuerySubscription.Event.allCases.map(\.rawValue))), "firesOnce": flag,
                        "zoneWide": flag, "notificationInfo": ref("NotificationInfo"),
                    ], required: ["subscriptionID"])
            ),
            (
                key: "SubscriptionsResponse",
                value: object(
                    [
                        "subscriptions": list(
                            either(
                                ref("Subscription"),
                                object(["subscriptionID": string, "deleted": flag], required: ["subscriptionID", "deleted"]),
                                failed(["subscriptionID": string])))
                    ], required: ["subscriptions"])
            ),
            (
                key: "SubscriptionsLookupRequest",
                value: object(
                    ["subscriptions": list(object(["subscriptionID": text("all", "garden", least: 1)], required: ["subscriptionID"]))],
                    required: ["subscriptions"])
            ),
            (
                key: "SubscriptionsModifyRequest",
                value: object(
                    [
                        "operations": list(
                            object(
                                ["operationType": choice(["create", "update", "delete"]), "subscription": ref("Subscription")],
                                required: ["operationType", "subscription"]))
                    ], required: ["operations"])
            ),
            (key: "PushNotification", value: object(["aps": object([:]), "ck": object([:])], required: ["aps", "ck"])),
        ]
    }

    private static var notificationInfo: JSONTree {
        object([
            "alertBody": string, "alertLocalizationKey": string, "alertLocalizationArgs": list(string), "title": string,
            "titleLocalizationKey": string, "titleLocalizationArgs": list(string), "subtitle": string,
            "subtitleLocalizationKey": string, "subtitleLocalizationArgs": list(string), "alertActionLocalizationKey": string,
            "alertLaunchImage": string, "soundName": string, "category": string, "shouldBadge": flag,
            "shouldSendContentAvailable": flag, "shouldSendMutableContent": flag, "collapseIDKey": string,
            "additionalFields": list(fieldName),
        ])
    }

    // MARK: People

    /// People, shares and tokens.
    static var people: [(key: String, value: JSONTree)] {
        [
            (
                key: "NameComponents",
                value: object([
                    "namePrefix": string, "givenName": string, "middleName": string, "familyName": string, "nameSuffix": string,
                    "nickname": string, "phoneticRepresentation": ref("NameComponents"),
                ])
            ),
            (
                key: "Quota",
                value: object([
                    "recordBytes": ["type": "integer"], "assetBytes": ["type": "integer"], "bytesMax": ["type": "integer"],
                ])
            ),
            (
                key: "LookupInfo",
                value: either(
                    object(["emailAddress": text("mia@example.org")], required: ["emailAddress"]),
                    object(["phoneNumber": text("+49 89 1")], required: ["phoneNumber"]),
                    object(["userRecordName": text("_00000000000000000000000000000000")], required: ["userRecordName"]))
            ),
            (
                key: "UserIdentity",
                value: object([
                    "userRecordName": string, "nameComponents": ref("NameComponents"), "lookupInfo": ref("LookupInfo"),
                    "quota": ref("Quota"), "permissions": list(ref("TypePermissions")),
                ])
            ),
            (
                key: "TypePermissions",
                value: object(
                    ["recordType": string, "create": flag, "write": choice(TypePermissions.Writing.allCases.map(\.rawValue))],
                    required: ["recordType"])
            ),
            (
                key: "UserDictionary",
                value: object(
                    [
                        "userRecordName": string, "firstName": string, "lastName": string, "emailAddress": string,
                        "quota": ref("Quota"),
                    ],
                    required: ["userRecordName"])
            ),
            (key: "DiscoverUsersRequest", value: object(["lookupInfos": list(ref("LookupInfo"))], required: ["lookupInfos"])),
            (key: "LookupUsersRequest", value: object(["users": list(ref("LookupInfo"))], required: ["users"])),
            (key: "UserIdentitiesResponse", value: object(["users": list(ref("UserIdentity"))], required: ["users"])),
            (key: "UserDictionariesResponse", value: object(["users": list(ref("UserDictionary"))], required: ["users"])),
            (
                key: "Participant",
                value: object(
                    [
                        "participantId": string, "userIdentity": ref("UserIdentity"),
                        "type": choice(["OWNER", "ADMINISTRATOR", "USER", "PUBLIC_USER", "UNKNOWN"]), "permission": permission,
                        "acceptanceStatus": choice(["INVITED", "ACCEPTED", "REMOVED", "UNKNOWN"]),
                        "dateAddedToShare": ["type": "integer"], "isApprovedRequester": flag, "isOneTimeURLParticipant": flag,
                        "oneTimeShortGUID": string,
                    ])
            ),
            (
                key: "ShortGUID",
                value: object(
                    ["value": text("0Ab3"), "shouldFetchRootRecord": flag, "rootRecordDesiredKeys": list(string)], required: ["value"])
            ),
            (key: "ShortGUIDsRequest", value: object(["shortGUIDs": list(ref("ShortGUID"))], required: ["shortGUIDs"])),
            (
                key: "ShareMetadata",
                value: object(
                    [
                        "shortGUID": ref("ShortGUID"), "containerIdentifier": string, "environment": string,
                        "databaseScope": string, "zoneID": ref("ZoneID"), "rootRecordName": string, "rootRecord": ref("Record"),
                        "participantType": string, "participantPermission": string, "participantStatus": string,
                        "ownerIdentity": ref("UserIdentity"), "share": ref("Record"),
                    ], required: ["shortGUID", "zoneID", "share"])
            ),
            (
                key: "ShortGUIDsResponse",
                value: object(
                    ["results": list(either(ref("ShareMetadata"), failed(["shortGUID": ref("ShortGUID")])))], required: ["results"])
            ),
            (
                key: "AccessRequestsResponse",
                value: object(
                    [
                        "results": list(
                            either(
                                failed(["shortGUID": ref("ShortGUID")]), object(["shortGUID": ref("ShortGUID")], required: ["shortGUID"])))
                    ],
                    required: ["results"])
            ),
            (
                key: "PushTokenRequest",
                value: object(
                    [
                        "apnsEnvironment": choice(CloudEnvironment.allCases.map(\.rawValue)), "apnsToken": text("token", least: 1),
                        "clientId": text("page", least: 1),
                    ], required: ["apnsEnvironment"])
            ),
            (
                key: "PushTokenRegistration",
                value: object(
                    [
                        "apnsEnvironment": choice(CloudEnvironment.allCases.map(\.rawValue)), "apnsToken": text("token", least: 1),
                        "clientId": text("page", least: 1),
                    ], required: ["apnsEnvironment", "apnsToken"])
            ),
            (
                key: "PushTokenResponse",
                value: object(
                    ["apnsEnvironment": string, "apnsToken": string, "webcourierURL": string],
                    required: ["apnsEnvironment", "apnsToken", "webcourierURL"])
            ),
            (key: "WebAuthTokenRequest", value: object(["apiToken": text("token")], required: ["apiToken"])),
            (key: "WebAuthTokenResponse", value: object(["webAuthToken": string], required: ["webAuthToken"])),
        ]
    }
}
