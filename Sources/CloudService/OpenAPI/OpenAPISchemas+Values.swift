// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

extension OpenAPISchemas {
    /// Fields, their values, and errors.
    static var values: [(key: String, value: JSONTree)] {
        [
            (key: "Anything", value: object([:])),
            (key: "Nothing", value: object([:])),
            (key: "Health", value: object(["status": choice(["ok", "ready"])], required: ["status"])),
            (key: "Error", value: failed([:])),
            (
                key: "ZoneID",
                value: object(
                    [
                        "zoneName": text("Garden", ZoneID.defaultZoneName, "Nowhere"), "ownerRecordName": text(),
                        "zoneType": choice(["DEFAULT_ZONE", "REGULAR_CUSTOM_ZONE"]),
                    ], required: ["zoneName"])
            ),
            (key: "RecordName", value: object(["recordName": recordName, "zoneID": ref("ZoneID")], required: ["recordName"])),
            (
                key: "Reference",
                value: object(
                    [
                        "recordName": recordName, "zoneID": ref("ZoneID"),
                        "action": choice(["NONE", "DELETE_SELF", "VALIDATE"]),
                    ], required: ["recordName"])
            ),
            (
                key: "Location",
                value: object(
                    [
                        "latitude": ["type": "number", "minimum": -90, "maximum": 90],
                        "longitude": ["type": "number", "minimum": -180, "maximum": 180],
                        "horizontalAccuracy": ["type": "number"], "verticalAccuracy": ["type": "number"],
                        "altitude": ["type": "number"], "speed": ["type": "number"], "course": ["type": "number"],
                        "timestamp": ["type": "integer"],
                    ], required: ["latitude", "longitude"])
            ),
            (
                key: "Asset",
                value: object(
                    [
                        "fileChecksum": text(), "size": ["type": "integer", "minimum": 0], "receipt": string,
                        "referenceChecksum": string, "wrappingKey": string, "downloadURL": string,
                    ], required: ["fileChecksum"])
            ),
            (key: "Field", value: field),
            (key: "FieldToSave", value: either(ref("Field"), cleared)),
        ] + kindsOfFields.map { (key: $0.name, value: $0.schema) }
    }

    /// A field by its `type`, so that generated clients have a case for each.
    private static var field: JSONTree {
        let mapping = kindsOfFields.map { (key: $0.type, value: JSONTree.text("#/components/schemas/\($0.name)")) }
        return [
            "oneOf": .array(kindsOfFields.map { ref($0.name) }),
            "discriminator": ["propertyName": "type", "mapping": .object(mapping)],
        ]
    }

    /// A field that a request clears.
    private static var cleared: JSONTree { object(["value": ["type": "null"]], required: ["value"]) }

    private struct KindOfField {
        var name: String
        /// On the wire.
        var type: String
        var schema: JSONTree
    }

    private static var kindsOfFields: [KindOfField] {
        FieldType.allCases.map { kind(name(of: $0), $0.rawValue, value(of: $0)) }
            + FieldType.allCases.map { kind(name(of: $0) + "List", $0.rawValue + "_LIST", list(value(of: $0))) }
            + [kind("EmptyList", "EMPTY_LIST", ["type": "array", "items": object([:]), "maxItems": 0])]
    }

    private static func kind(_ name: String, _ type: String, _ value: JSONTree) -> KindOfField {
        KindOfField(
            name: name + "Field", type: type,
            schema: object(["type": choice([type]), "value": value, "isEncrypted": flag], required: ["type", "value"]))
    }

    private static func name(of type: FieldType) -> String {
        switch type {
        case .string: "String"
        case .int64: "Int64"
        case .double: "Double"
        case .timestamp: "Timestamp"
        case .bytes: "Bytes"
        case .reference: "Reference"
        case .location: "Location"
        case .asset: "Asset"
        }
    }

    /// Numbers may be written as strings, and are with `numbersAsStrings`.
    private static func value(of type: FieldType) -> JSONTree {
        switch type {
        case .string: text("Sage", "Mint", "")
        case .int64:
            either(["type": "integer", "format": "int64", "examples": [0, 3, -7]], ["type": "string", "examples": ["9007199254740993"]])
        case .double: either(["type": "number", "format": "double", "examples": [0, 12]], ["type": "string", "examples": ["0.25"]])
        case .timestamp:
            either(["type": "integer", "format": "int64", "examples": [0, 1_893_456_000_000]], ["type": "string", "examples": ["0"]])
        case .bytes: ["type": "string", "contentEncoding": "base64", "examples": ["", "/wA="]]
        case .reference: ref("Reference")
        case .location: ref("Location")
        case .asset: ref("Asset")
        }
    }

    // MARK: Records

    static var records: [(key: String, value: JSONTree)] {
        let names: KeyValuePairs<String, JSONTree> = [
            "recordName": recordName, "recordType": recordType, "recordChangeTag": text("1", "2"), "zoneID": ref("ZoneID"),
            "parent": ref("RecordName"), "share": ref("RecordName"), "shortGUID": string, "createShortGUID": flag,
            "created": ref("Stamp"), "modified": ref("Stamp"), "deleted": flag, "pluginFields": object([:]), "forRecord": ref("ShareRoot"),
            "publicPermission": permission, "participants": list(ref("Participant")), "owner": ref("Participant"),
            "currentUserParticipant": ref("Participant"), "allowsAccessRequests": flag,
            "accessRequesters": list(ref("UserIdentity")), "blockedIdentities": list(ref("UserIdentity")),
            "fields": ["type": "object", "additionalProperties": ref("Field")],
        ]
        return [
            (
                key: "Stamp",
                value: object(
                    ["timestamp": ["type": "integer"], "userRecordName": string, "deviceID": string], required: ["timestamp"])
            ),
            (key: "ShareRoot", value: object(["recordName": recordName, "recordChangeTag": string], required: ["recordName"])),
            (
                key: "RecordToSave",
                value: object([
                    "recordName": recordName, "recordType": recordType, "recordChangeTag": text("1", "2"),
                    "zoneID": ref("ZoneID"), "parent": ref("RecordName"), "createShortGUID": flag, "forRecord": ref("ShareRoot"),
                    "publicPermission": permission, "participants": list(ref("Participant")), "allowsAccessRequests": flag,
                    "denyRequesters": list(string), "blockRequesters": list(string), "unblockIdentities": list(string),
                    "fields": [
                        "type": "object", "additionalProperties": either(ref("FieldToSave"), ["type": "null"]),
                        "propertyNames": fieldName,
                    ],
                ])
            ),
            (key: "Record", value: object(names, required: ["recordName"])),
            (
                key: "RecordResult",
                value: either(ref("Record"), failed(["recordName": string, "serverRecord": ref("Record")]))
            ),
            (
                key: "RecordOperation",
                value: object(
                    [
                        "operationType": choice(RecordOperation.Kind.allCases.map(\.rawValue)), "record": ref("RecordToSave"),
                        "desiredKeys": desiredKeys,
                    ], required: ["operationType", "record"])
            ),
            (
                key: "ModifyRecordsRequest",
                value: object(
                    [
                        "operations": list(ref("RecordOperation")), "zoneID": ref("ZoneID"), "atomic": flag,
                        "desiredKeys": desiredKeys, "numbersAsStrings": flag,
                        "clientChangeToken": ["type": "string", "contentEncoding": "base64", "examples": ["", "/wA="]],
                        "saveGroup": object(
                            [
                                "id": string, "part": ["type": "integer", "minimum": 0], "parts": ["type": "integer", "minimum": 1],
                                "atomic": flag,
                            ],
                            required: ["id", "part", "parts"]),
                        "historyToken": string,
                    ], required: ["operations"])
            ),
            (
                key: "RecordsResponse",
                value: object(
                    [
                        "records": list(ref("RecordResult")), "syncToken": string, "nextSyncToken": string,
                        "saveGroup": object(
                            [
                                "state": choice(["STAGED", "INCOMPLETE", "SAVED", "REFUSED"]),
                                "missing": list(["type": "integer", "minimum": 0]),
                            ], required: ["state"]),
                    ], required: ["records"])
            ),
            (
                key: "LookupRecordsRequest",
                value: object(
                    [
                        "records": list(
                            object(
                                ["recordName": recordName, "zoneID": ref("ZoneID"), "desiredKeys": desiredKeys],
                                required: ["recordName"])),
                        "zoneID": ref("ZoneID"), "desiredKeys": desiredKeys, "numbersAsStrings": flag,
                    ], required: ["records"])
            ),
            (
                key: "Filter",
                value: object(
                    [
                        "fieldName": fieldName, "systemFieldName": systemField,
                        "comparator": choice(QueryFilter.Comparator.allCases.map(\.rawValue)), "fieldValue": ref("Field"),
                        "distance": ["type": "number", "minimum": 0],
                    ], required: ["comparator"])
            ),
            (
                key: "Sort",
                value: object([
                    "fieldName": fieldName, "systemFieldName": systemField, "ascending": flag,
                    "relativeLocation": either(
                        object(["type": ["const": "LOCATION"], "value": ref("Location")], required: ["value"]), ref("Location")),
                ])
            ),
            (
                key: "Query",
                value: object(
                    ["recordType": recordType, "filterBy": list(ref("Filter")), "sortBy": list(ref("Sort"))], required: ["recordType"])
            ),
            (
                key: "QueryRecordsRequest",
                value: object(
                    [
                        "query": ref("Query"), "zoneID": ref("ZoneID"), "zoneWide": flag, "resultsLimit": limit,
                        "continuationMarker": text(), "desiredKeys": desiredKeys, "numbersAsStrings": flag,
                    ], required: ["query"])
            ),
            (
                key: "QueryRecordsResponse",
                value: object(
                    ["records": list(ref("RecordResult")), "continuationMarker": string, "syncToken": string], required: ["records"])
            ),
            (
                key: "AssetUploadRequest",
                value: object(
                    [
                        "zoneID": ref("ZoneID"),
                        "tokens": list(
                            object(
                                ["recordType": recordType, "recordName": recordName, "fieldName": fieldName],
                                required: ["recordType", "fieldName"])),
                    ], required: ["tokens"])
            ),
            (
                key: "AssetUploadResponse",
                value: object(
                    [
                        "tokens": list(
                            either(
                                object(
                                    ["recordName": string, "fieldName": string, "url": string],
                                    required: ["recordName", "fieldName", "url"]),
                                failed(["recordName": string, "fieldName": string])))
                    ], required: ["tokens"])
            ),
            (key: "AssetUploadReceipt", value: object(["singleFile": ref("Asset")], required: ["singleFile"])),
            (
                key: "RereferenceAssetsRequest",
                value: object(
                    [
                        "zoneID": ref("ZoneID"),
                        "assets": list(
                            object(["recordName": recordName, "fieldName": fieldName], required: ["recordName", "fieldName"])),
                    ], required: ["assets"])
            ),
            (
                key: "RereferenceAssetsResponse",
                value: object(
                    [
                        "assets": list(
                            either(ref("Asset"), list(ref("Asset")), failed(["recordName": string, "fieldName": string])))
                    ], required: ["assets"])
            ),
        ]
    }

    static var permission: JSONTree { choice(["NONE", "READ_ONLY", "READ_WRITE", "UNKNOWN"]) }
    private static var systemField: JSONTree { choice(QueryKey.SystemField.allCases.map(\.rawValue)) }
}
