// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A zone of a database: its name and its owner.
///
/// Source: *CloudKit Web Services Reference*, "Zone ID Dictionary".
package struct ZoneID: Hashable, Sendable {
    package static let defaultZoneName = "_defaultZone"

    package var zoneName: String
    /// User record name of the owner. `nil` means the caller.
    package var ownerRecordName: String?

    package init(zoneName: String, ownerRecordName: String? = nil) {
        self.zoneName = zoneName
        self.ownerRecordName = ownerRecordName
    }

    package static var defaultZone: ZoneID { ZoneID(zoneName: defaultZoneName) }

    package var isDefaultZone: Bool { zoneName == Self.defaultZoneName }
}

package enum DatabaseScope: String, Hashable, Sendable, CaseIterable {
    case `public`
    case `private`
    case shared
}

package enum CloudEnvironment: String, Hashable, Sendable, CaseIterable {
    case development
    case production
}

/// The author, the time and the device of a save.
package struct RecordStamp: Hashable, Sendable {
    /// Milliseconds since 1970 UTC, by the server's clock.
    package var timestamp: Int64
    package var userRecordName: String
    package var deviceID: String?

    /// The time of a stamp with an unknown time; a server's clock never has it.
    package static let unknownTime = -UntrustedNumber.millisecondsMax

    package init(timestamp: Int64, userRecordName: String, deviceID: String? = nil) {
        self.timestamp = timestamp
        self.userRecordName = userRecordName
        self.deviceID = deviceID
    }
}

/// A record on the wire: complete in responses, with the changes only in requests.
///
/// Source: *CloudKit Web Services Reference*, "Record Dictionary".
package struct Record: Hashable, Sendable {
    /// Unique in its zone. Empty in a creation that leaves the name to the server.
    package var recordName: String
    /// Empty if the wire omits it (deleted records of some services).
    package var recordType: String
    /// Opaque version. `nil` in a creation.
    package var recordChangeTag: String?
    package var zoneID: ZoneID?
    /// In a request, a field without a value clears it.
    package var fields: [String: Field]
    package var created: RecordStamp?
    package var modified: RecordStamp?
    package var isDeleted: Bool
    /// Few records have any of these, so they are boxed, and cost the others a pointer only.
    private var sharingBox: SharingBox?

    package init(
        recordName: String, recordType: String = "", recordChangeTag: String? = nil, zoneID: ZoneID? = nil,
        fields: [String: Field] = [:], isDeleted: Bool = false
    ) {
        self.recordName = recordName
        self.recordType = recordType
        self.recordChangeTag = recordChangeTag
        self.zoneID = zoneID
        self.fields = fields
        self.isDeleted = isDeleted
    }

    /// Relates the record to shares, and to other records of a hierarchy.
    package var sharing: RecordSharing {
        get { if case .keys(let keys) = sharingBox { keys } else { RecordSharing() } }
        set { sharingBox = newValue == RecordSharing() ? nil : .keys(newValue) }
    }

    package var sharingIsPresent: Bool { sharingBox != nil }

    private indirect enum SharingBox: Hashable, Sendable { case keys(RecordSharing) }
}

/// The keys of a record that concern sharing.
///
/// Source: *CloudKit Web Services Reference*, "Record Dictionary".
package struct RecordSharing: Hashable, Sendable {
    /// Name of the parent record in the same zone: a share of the parent includes this record. In a request `nil` keeps
    /// the parent, and an empty name removes it.
    package var parent: String?
    /// Name of the record's share, in the same zone. In responses only.
    package var share: String?
    /// Last part of the link to the share of this record.
    package var shortGUID: String?
    /// In a request: create a short GUID for the record.
    package var createsShortGUID = false
    /// For share records only.
    package var details: ShareDetails?

    package init() {}
}

package struct Field: Hashable, Sendable {
    package var value: FieldValue?
    package var isEncrypted: Bool

    package init(_ value: FieldValue?, isEncrypted: Bool = false) {
        self.value = value
        self.isEncrypted = isEncrypted
    }
}

/// The value of a record's field with its wire type.
///
/// Source: *CloudKit Web Services Reference*, "Record Field Dictionary".
package enum FieldValue: Hashable, Sendable {
    case string(String)
    case int64(Int64)
    case double(Double)
    /// Milliseconds since 1970 UTC.
    case timestamp(Int64)
    case bytes([UInt8])
    // Boxed: inline they would make every value five times as large, elements of lists included.
    indirect case reference(RecordReference)
    indirect case location(RecordLocation)
    indirect case asset(AssetValue)
    /// All elements have the named type. An empty list of an unknown type has `nil`.
    case list([FieldValue], of: FieldType?)

    /// Compares texts by their bytes, unlike Swift's strings, since a change of bytes is a change of the field.
    package static func == (a: FieldValue, b: FieldValue) -> Bool {
        switch (a, b) {
        case (.string(let a), .string(let b)): a == b && a.utf8.elementsEqual(b.utf8)
        case (.int64(let a), .int64(let b)), (.timestamp(let a), .timestamp(let b)): a == b
        case (.double(let a), .double(let b)): a == b
        case (.bytes(let a), .bytes(let b)): a == b
        case (.reference(let a), .reference(let b)): a == b
        case (.location(let a), .location(let b)): a == b
        case (.asset(let a), .asset(let b)): a == b
        case (.list(let a, of: let kind), .list(let b, of: let other)): a == b && kind == other
        case (.string, _), (.int64, _), (.double, _), (.timestamp, _), (.bytes, _), (.reference, _), (.location, _), (.asset, _),
            (.list, _):
            false
        }
    }

    package var type: FieldType? {
        switch self {
        case .string: .string
        case .int64: .int64
        case .double: .double
        case .timestamp: .timestamp
        case .bytes: .bytes
        case .reference: .reference
        case .location: .location
        case .asset: .asset
        case .list: nil
        }
    }
}

/// Wire names of the types of fields, and of elements of list fields.
package enum FieldType: String, Hashable, Sendable, CaseIterable {
    case string = "STRING"
    case int64 = "INT64"
    case double = "DOUBLE"
    case timestamp = "TIMESTAMP"
    case bytes = "BYTES"
    case reference = "REFERENCE"
    case location = "LOCATION"
    case asset = "ASSETID"
}

package struct RecordReference: Hashable, Sendable {
    package enum Action: String, Hashable, Sendable { case none = "NONE", deleteSelf = "DELETE_SELF", validate = "VALIDATE" }

    package var recordName: String
    package var zoneID: ZoneID?
    package var action: Action

    package init(recordName: String, zoneID: ZoneID? = nil, action: Action = .none) {
        self.recordName = recordName
        self.zoneID = zoneID
        self.action = action
    }
}

package struct RecordLocation: Hashable, Sendable {
    package var latitude: Double
    package var longitude: Double
    package var horizontalAccuracy: Double?
    package var verticalAccuracy: Double?
    package var altitude: Double?
    package var speed: Double?
    package var course: Double?
    /// Milliseconds since 1970 UTC.
    package var timestamp: Int64?

    package init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }
}

/// The value of an asset field. Requests have the receipt of an upload, responses a download address.
package struct AssetValue: Hashable, Sendable {
    /// Opaque signature of the content; equal for equal bytes.
    package var fileChecksum: String
    /// Bytes.
    package var size: Int64
    package var receipt: String?
    package var referenceChecksum: String?
    package var wrappingKey: String?
    package var downloadURL: String?

    package init(fileChecksum: String, size: Int64, receipt: String? = nil, downloadURL: String? = nil) {
        self.fileChecksum = fileChecksum
        self.size = size
        self.receipt = receipt
        self.downloadURL = downloadURL
    }
}
