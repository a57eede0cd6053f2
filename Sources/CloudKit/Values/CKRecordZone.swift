// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
public import Foundation

/// The owner name that stands for the signed-in user.
public let CKCurrentUserDefaultName = "__defaultOwner__"
/// The name of the default zone.
public let CKRecordZoneDefaultName = CKRecordZone.ID.defaultZoneName

/// A part of a database with atomic changes and a change feed of its own.
///
/// Source: Apple's documentation of `CKRecordZone`.
public final class CKRecordZone: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The features of a zone.
    public struct Capabilities: OptionSet, Hashable, Sendable {
        /// The bits of the set.
        public let rawValue: UInt

        /// Creates a set from its bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// The zone has a change feed.
        public static let fetchChanges = Capabilities(rawValue: 1)
        /// The zone supports atomic saves.
        public static let atomic = Capabilities(rawValue: 2)
        /// Records of the zone can be shared in hierarchies.
        public static let sharing = Capabilities(rawValue: 4)
        /// The zone can be shared as a whole.
        public static let zoneWideSharing = Capabilities(rawValue: 8)
    }

    /// The type of a zone's identifier.
    public typealias ID = CKRecordZoneID

    /// The identifier of the zone.
    public let zoneID: ID
    /// The features, as the server states them. Empty before the zone was saved or fetched.
    public let capabilities: Capabilities
    /// The share of the whole zone, for the user's own zones. `nil` if it isn't shared, or before the zone was saved or
    /// fetched.
    public let share: CKRecord.Reference?

    /// Creates a zone of the signed-in user.
    public convenience init(zoneName: String) {
        self.init(zoneID: ID(zoneName: zoneName))
    }

    /// Creates a zone.
    public convenience init(zoneID: ID) {
        self.init(zoneID: zoneID, capabilities: [])
    }

    package init(zoneID: ID, capabilities: Capabilities, share: CKRecord.Reference? = nil) {
        self.zoneID = zoneID
        self.capabilities = capabilities
        self.share = share
    }

    convenience init(_ zone: Zone, scope: CKDatabase.Scope) {
        let zoneID = ID(zone.zoneID, scope: scope)
        self.init(
            zoneID: zoneID, capabilities: Self.capabilities(of: zone, scope),
            share: zone.shareName.map {
                CKRecord.Reference(recordID: CKRecord.ID(recordName: $0, zoneID: zoneID), action: .none)
            })
    }

    /// The user's own custom zones can be shared.
    private static func capabilities(of zone: Zone, _ scope: CKDatabase.Scope) -> Capabilities {
        guard zone.atomic else { return [] }
        return scope == .private ? [.fetchChanges, .atomic, .sharing, .zoneWideSharing] : [.fetchChanges, .atomic]
    }

    /// The default zone.
    public class func `default`() -> CKRecordZone { CKRecordZone(zoneID: .default) }

    /// Returns the object itself, which is immutable.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    // MARK: Archives

    /// `true`: archives may contain the class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes an archived zone. Returns `nil` if the archive is damaged.
    public init?(coder: NSCoder) {
        guard let zoneID = coder.decodeObject(of: CKRecordZone.ID.self, forKey: "zoneID") else { return nil }
        self.zoneID = zoneID
        capabilities = Capabilities(rawValue: UInt(max(0, coder.decodeInteger(forKey: "capabilities"))))
        share = coder.decodeObject(of: CKRecord.Reference.self, forKey: "share")
    }

    /// Encodes the zone.
    public func encode(with coder: NSCoder) {
        coder.encode(zoneID, forKey: "zoneID")
        coder.encode(Int(capabilities.rawValue), forKey: "capabilities")
        coder.encode(share, forKey: "share")
    }
}

/// A zone's name and owner. Equal by value.
///
/// The name is that of the Objective-C class, since archives on Linux cannot contain nested classes.
public final class CKRecordZoneID: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The name of the default zone.
    public static let defaultZoneName = "_defaultZone"
    /// The identifier of the signed-in user's default zone.
    public static let `default` = CKRecordZoneID()

    /// The name, unique for the owner.
    public let zoneName: String
    /// The owner's record name, or `CKCurrentUserDefaultName`.
    public let ownerName: String

    /// Creates an identifier.
    public init(zoneName: String = CKRecordZoneID.defaultZoneName, ownerName: String = CKCurrentUserDefaultName) {
        self.zoneName = zoneName
        self.ownerName = ownerName
    }

    /// The shared database has zones of other owners. In the other databases all zones are the user's own, and the
    /// owner's name is replaced by the placeholder, so that identifiers equal those that the app creates.
    package convenience init(_ zoneID: ZoneID, scope: CKDatabase.Scope) {
        let owner = scope == .shared ? zoneID.ownerRecordName : nil
        self.init(zoneName: zoneID.zoneName, ownerName: owner ?? CKCurrentUserDefaultName)
    }

    package var wire: ZoneID {
        ZoneID(zoneName: zoneName, ownerRecordName: ownerName == CKCurrentUserDefaultName ? nil : ownerName)
    }

    /// Returns whether an object is an equal identifier.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKRecordZoneID else { return false }
        return zoneName == other.zoneName && ownerName == other.ownerName
    }

    /// A hash of the values that ``isEqual(_:)`` compares.
    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(zoneName)
        hasher.combine(ownerName)
        return hasher.finalize()
    }

    /// The name and the owner.
    public override var description: String { "<CKRecordZone.ID \(zoneName), owner \(ownerName)>" }

    /// Returns the object itself, which is immutable.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    // MARK: Archives

    /// `true`: archives may contain the class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes an archived identifier. Returns `nil` if the archive is damaged.
    public init?(coder: NSCoder) {
        guard let zoneName = coder.decodeObject(of: NSString.self, forKey: "zoneName"),
            let ownerName = coder.decodeObject(of: NSString.self, forKey: "ownerName")
        else { return nil }
        self.zoneName = zoneName as String
        self.ownerName = ownerName as String
    }

    /// Encodes the identifier.
    public func encode(with coder: NSCoder) {
        coder.encode(zoneName as NSString, forKey: "zoneName")
        coder.encode(ownerName as NSString, forKey: "ownerName")
    }
}
