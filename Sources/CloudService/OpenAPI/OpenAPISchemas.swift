// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// What requests and answers hold, as JSON schemas by name.
///
/// Source: *CloudKit Web Services Reference*; *JSON Schema*, draft 2020-12, as OpenAPI 3.1 uses it.
enum OpenAPISchemas {
    struct Shape {
        var summary: String
        /// Names of schemas; nil for a request without a body.
        var request: String?
        /// Name of the schema; nil for bytes.
        var response: String?
    }

    static func shape(of operation: ServicePath.Operation) -> Shape {
        switch operation {
        case .modifyRecords:
            Shape(summary: "Saves and deletes records of one zone.", request: "ModifyRecordsRequest", response: "RecordsResponse")
        case .queryRecords:
            Shape(summary: "A page of the records that a query matches.", request: "QueryRecordsRequest", response: "QueryRecordsResponse")
        case .lookupRecords: Shape(summary: "Records by their names.", request: "LookupRecordsRequest", response: "RecordsResponse")
        case .uploadAssets:
            Shape(summary: "Asks where files may be sent to.", request: "AssetUploadRequest", response: "AssetUploadResponse")
        case .rereferenceAssets:
            Shape(
                summary: "Uses assets of records in other records.", request: "RereferenceAssetsRequest",
                response: "RereferenceAssetsResponse")
        case .recordChanges:
            Shape(
                summary: "What changed in one zone; older form of changes/zone.", request: "RecordChangesRequest",
                response: "RecordChangesResponse")
        case .changedZones:
            Shape(
                summary: "Which zones changed; older form of changes/database.", request: "ChangedZonesRequest",
                response: "ChangedZonesResponse")
        case .listZones: Shape(summary: "All zones of the database.", request: nil, response: "ZonesResponse")
        case .lookupZones: Shape(summary: "Zones by their names.", request: "ZonesLookupRequest", response: "ZonesResponse")
        case .modifyZones: Shape(summary: "Makes and deletes zones.", request: "ZonesModifyRequest", response: "ZonesResponse")
        case .databaseChanges:
            Shape(summary: "Which zones changed since a token.", request: "DatabaseChangesRequest", response: "DatabaseChangesResponse")
        case .zoneChanges:
            Shape(summary: "What changed in zones since a token of each.", request: "ZoneChangesRequest", response: "ZoneChangesResponse")
        case .zoneSnapshot:
            Shape(summary: "Bytes of a snapshot that changes/zone offered; Tarn's addition.", request: nil, response: nil)
        case .listSubscriptions: Shape(summary: "All subscriptions of the caller.", request: nil, response: "SubscriptionsResponse")
        case .lookupSubscriptions:
            Shape(summary: "Subscriptions by their identifiers.", request: "SubscriptionsLookupRequest", response: "SubscriptionsResponse")
        case .modifySubscriptions:
            Shape(summary: "Makes and deletes subscriptions.", request: "SubscriptionsModifyRequest", response: "SubscriptionsResponse")
        case .resolveRecords: Shape(summary: "What links to shares lead to.", request: "ShortGUIDsRequest", response: "ShortGUIDsResponse")
        case .acceptRecords: Shape(summary: "Joins shares by their links.", request: "ShortGUIDsRequest", response: "ShortGUIDsResponse")
        case .requestAccess:
            Shape(
                summary: "Asks the owners of shares for access, by their links; Tarn's addition.", request: "ShortGUIDsRequest",
                response: "AccessRequestsResponse")
        case .caller: Shape(summary: "Who calls.", request: nil, response: "UserIdentity")
        case .currentUser: Shape(summary: "The caller; older form of users/caller.", request: nil, response: "UserDictionary")
        case .discoverUsers:
            Shape(summary: "People that agreed to be found.", request: "DiscoverUsersRequest", response: "UserIdentitiesResponse")
        case .lookupUsersByEmail:
            Shape(
                summary: "People by address; older form of users/discover.", request: "LookupUsersRequest",
                response: "UserDictionariesResponse")
        case .lookupUsersByID:
            Shape(
                summary: "People by record name; older form of users/discover.", request: "LookupUsersRequest",
                response: "UserDictionariesResponse")
        case .lookupUsersByContacts:
            Shape(
                summary: "People of the caller's address book, which this server does not keep.", request: "Anything",
                response: "UserDictionariesResponse")
        case .restrictUser: Shape(summary: "Pauses the processing of the caller's data.", request: "Anything", response: "Nothing")
        case .unrestrictUser: Shape(summary: "Ends the pause.", request: "Anything", response: "Nothing")
        }
    }

    static func shape(of operation: DevicePath.Operation) -> Shape {
        switch operation {
        case .pushStream:
            Shape(summary: "Notifications as they come, on a connection that is held.", request: nil, response: "PushNotification")
        case .createToken: Shape(summary: "Makes a push token.", request: "PushTokenRequest", response: "PushTokenResponse")
        case .registerToken: Shape(summary: "Takes a push token.", request: "PushTokenRegistration", response: "PushTokenResponse")
        case .webAuthToken:
            Shape(summary: "A web auth token for a device token.", request: "WebAuthTokenRequest", response: "WebAuthTokenResponse")
        }
    }

    static var all: [(key: String, value: JSONTree)] { values + records + feeds + people }

    // MARK: Parts

    static func ref(_ name: String) -> JSONTree { ["$ref": "#/components/schemas/\(name)"] }

    static func object(_ properties: KeyValuePairs<String, JSONTree>, required: [String] = []) -> JSONTree {
        let schema: JSONTree = ["type": "object", "properties": .object(properties.map { (key: $0.key, value: $0.value) })]
        return required.isEmpty ? schema : schema.with(("required", JSONTree(required)))
    }

    static func list(_ items: JSONTree) -> JSONTree { ["type": "array", "items": items] }
    static func choice(_ texts: some Sequence<String>) -> JSONTree { ["type": "string", "enum": JSONTree(texts)] }
    static func either(_ schemas: JSONTree...) -> JSONTree { ["anyOf": .array(schemas)] }

    /// A text for which these are good examples.
    static func text(_ examples: String..., least: Int = 0) -> JSONTree {
        let schema: JSONTree = ["type": "string"]
        return schema.with(
            ("minLength", least > 0 ? .number(least) : nil), ("examples", examples.isEmpty ? nil : JSONTree(examples)))
    }

    static let string: JSONTree = ["type": "string"]
    static let flag: JSONTree = ["type": "boolean"]
    static let limit: JSONTree = ["type": "integer", "minimum": 1, "examples": [1, 3, 200]]
    static let recordName = text("sage", "mint", "bed", least: 1)
    static let recordType = text("Plant", "Bed", least: 1)
    static let fieldName = text("name", "count", "spot", "bed", "photo", least: 1)
    static let desiredKeys = list(fieldName)
    static let syncToken = text()

    /// The keys of an error in addition to those of the item that failed.
    static func failed(_ keys: KeyValuePairs<String, JSONTree>, required: [String] = []) -> JSONTree {
        let own = keys.map { (key: $0.key, value: $0.value) }
        let schema: JSONTree = ["type": "object", "properties": .object(own + errorKeys)]
        return schema.with(("required", JSONTree(required + ["serverErrorCode", "reason"])))
    }

    static let errorKeys: [(key: String, value: JSONTree)] = [
        (key: "uuid", value: string), (key: "serverErrorCode", value: choice(WireError.Code.allCases.map(\.rawValue))),
        (key: "reason", value: string), (key: "retryAfter", value: ["type": "number", "minimum": 0]),
        (
            key: "nativeErrorCode",
            value: [
                "type": "integer", "enum": .array(AppErrorCode.withoutWireCode.map { .number($0.rawValue) }),
                "description": "Tarn's addition: the CKError code where the documented codes have none.",
            ]
        ), (key: "redirectURL", value: string),
        (key: "didResetEncryptedData", value: flag), (key: "historyLost", value: flag),
        (key: "restoredChangeTag", value: string),
    ]
}
