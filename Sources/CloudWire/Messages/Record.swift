// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A zone of a database: its name and whose it is.
///
/// Source: *CloudKit Web Services Reference*, "Zone ID Dictionary".
package struct ZoneID: Hashable, Sendable {
    package static let defaultZoneName = "_defaultZone"

    package var zoneName: String
    /// User record name of the owner; nil means the caller.
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

/// Who saved a record, when by the server's clock, and from which device.
package struct RecordStamp: Hashable, Sendable {
    /// Milliseconds since 1970 UTC, by the server's clock.
    package var timestamp: Int64
    package var userRecordName: String
    package var deviceID: String?

    /// The time of a stamp of which only the user is known; no server's clock shows it.
    package static let unknownTime = -UntrustedNumber.millisecondsMax

    package init(timestamp: Int64, userRecordName: String, deviceID: String? = nil) {
        self.timestamp = timestamp
        self.userRecordName = userRecordName
        self.deviceID = deviceID
    }
}

/// A record as it travels: complete in answers, only what is to change in requests.
///
/// Source: *CloudKit Web Services Reference*, "Record Dictionary".
package struct Record: Hashable, Sendable {
    /// Unique in its zone. Empty in a request that creates and leaves the name to the server.
    package var recordName: String
    /// Empty where the wire leaves it out (deleted records of some services).
    package var recordType: String
    /// Opaque version; nil in a request that creates.
    package var recordChangeTag: String?
    package var zoneID: ZoneID?
    /// A field present without a value clears it in a request.
    package var fields: [String: Field]
    package var created: RecordStamp?
    package var modified: RecordStamp?
    package var isDeleted: Bool
    /// Few records have any of it, so it is apart, and costs the others a pointer.
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

    /// What joins the record to shares and to other records of a hierarchy.
    package var sharing: RecordSharing {
        get { if case .keys(let keys) = sharingBox { keys } else { RecordSharing() } }
        set { sharingBox = newValue == RecordSharing() ? nil : .keys(newValue) }
    }

    package var sharingIsPresent: Bool { sharingBox != nil }

    private indirect enum SharingBox: Hashable, Sendable { case keys(RecordSharing) }
}

/// The keys of a record that have to do with sharing.
///
/// Source: *CloudKit Web Services Reference*, "Record Dictionary".
package struct RecordSharing: Hashable, Sendable {
    /// Name of the record above this one, in the same zone: who shares that one shares this one too. In a request nil
    /// leaves it as it is, and an empty name takes it away.
    package var parent: String?
    /// Name of the share that the record belongs to, in the same zone; in answers.
    package var share: String?
    /// Last part of the link to the share of this record.
    package var shortGUID: String?
    /// In a request: make a short GUID for the record.
    package var createsShortGUID = false
    /// Of share records only.
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
    case reference(RecordReference)
    case location(RecordLocation)
    case asset(AssetValue)
    /// Elements all have the kind that is named; an empty list whose kind is not known has nil.
    case list([FieldValue], of: FieldType?)

    /// Texts are equal when their bytes are, unlike Swift's strings: a sender tells by it what changed.
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

/// Wire names of the types a field, or an element of a list field, may have.
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

/// What stands in a record for a file. Requests carry the receipt of an upload, answers a download address.
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
