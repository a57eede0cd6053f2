// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
public import Foundation

/// The owner name that stands for whoever is signed in.
public let CKCurrentUserDefaultName = "__defaultOwner__"
public let CKRecordZoneDefaultName = CKRecordZone.ID.defaultZoneName

/// A part of a database whose records can be changed together and whose changes can be asked for.
///
/// Source: Apple's documentation of `CKRecordZone`.
public final class CKRecordZone: NSObject, NSCopying, NSSecureCoding, Sendable {
    public struct Capabilities: OptionSet, Hashable, Sendable {
        public let rawValue: UInt

        public init(rawValue: UInt) { self.rawValue = rawValue }

        public static let fetchChanges = Capabilities(rawValue: 1)
        public static let atomic = Capabilities(rawValue: 2)
        public static let sharing = Capabilities(rawValue: 4)
        public static let zoneWideSharing = Capabilities(rawValue: 8)
    }

    public typealias ID = CKRecordZoneID

    public let zoneID: ID
    /// What the server says the zone can do; nothing before it was saved or fetched.
    public let capabilities: Capabilities
    /// The share by which the whole zone is shared, in one's own zones; nil if there is none, or before the zone was
    /// saved or fetched.
    public let share: CKRecord.Reference?

    public convenience init(zoneName: String) {
        self.init(zoneID: ID(zoneName: zoneName))
    }

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

    /// Custom zones of one's own can be shared.
    private static func capabilities(of zone: Zone, _ scope: CKDatabase.Scope) -> Capabilities {
        guard zone.atomic else { return [] }
        return scope == .private ? [.fetchChanges, .atomic, .sharing, .zoneWideSharing] : [.fetchChanges, .atomic]
    }

    public class func `default`() -> CKRecordZone { CKRecordZone(zoneID: .default) }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    // MARK: Archives

    public static var supportsSecureCoding: Bool { true }

    public init?(coder: NSCoder) {
        guard let zoneID = coder.decodeObject(of: CKRecordZone.ID.self, forKey: "zoneID") else { return nil }
        self.zoneID = zoneID
        capabilities = Capabilities(rawValue: UInt(max(0, coder.decodeInteger(forKey: "capabilities"))))
        share = coder.decodeObject(of: CKRecord.Reference.self, forKey: "share")
    }

    public func encode(with coder: NSCoder) {
        coder.encode(zoneID, forKey: "zoneID")
        coder.encode(Int(capabilities.rawValue), forKey: "capabilities")
        coder.encode(share, forKey: "share")
    }
}

/// A zone's name and owner. Equal by value.
///
/// The name is that of the Objective-C class; archives on Linux hold classes that are not nested only.
public final class CKRecordZoneID: NSObject, NSCopying, NSSecureCoding, Sendable {
    public static let defaultZoneName = "_defaultZone"
    public static let `default` = CKRecordZoneID()

    public let zoneName: String
    public let ownerName: String

    public init(zoneName: String = CKRecordZoneID.defaultZoneName, ownerName: String = CKCurrentUserDefaultName) {
        self.zoneName = zoneName
        self.ownerName = ownerName
    }

    /// In the shared database zones have other owners; elsewhere all are the caller's, whose name is left out of
    /// identifiers so that they equal those the app makes itself.
    package convenience init(_ zoneID: ZoneID, scope: CKDatabase.Scope) {
        let owner = scope == .shared ? zoneID.ownerRecordName : nil
        self.init(zoneName: zoneID.zoneName, ownerName: owner ?? CKCurrentUserDefaultName)
    }

    package var wire: ZoneID {
        ZoneID(zoneName: zoneName, ownerRecordName: ownerName == CKCurrentUserDefaultName ? nil : ownerName)
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKRecordZoneID else { return false }
        return zoneName == other.zoneName && ownerName == other.ownerName
    }

    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(zoneName)
        hasher.combine(ownerName)
        return hasher.finalize()
    }

    public override var description: String { "<CKRecordZone.ID \(zoneName), owner \(ownerName)>" }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    // MARK: Archives

    public static var supportsSecureCoding: Bool { true }

    public init?(coder: NSCoder) {
        guard let zoneName = coder.decodeObject(of: NSString.self, forKey: "zoneName"),
            let ownerName = coder.decodeObject(of: NSString.self, forKey: "ownerName")
        else { return nil }
        self.zoneName = zoneName as String
        self.ownerName = ownerName as String
    }

    public func encode(with coder: NSCoder) {
        coder.encode(zoneName as NSString, forKey: "zoneName")
        coder.encode(ownerName as NSString, forKey: "ownerName")
    }
}
