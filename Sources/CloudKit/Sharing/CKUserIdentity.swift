// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// A user, as this container knows them.
///
/// Source: Apple's documentation of `CKUserIdentity`.
public final class CKUserIdentity: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The type of the lookup information.
    public typealias LookupInfo = CKUserIdentityLookupInfo

    /// The record ID of the user in this container. `nil` if it is unknown.
    public let userRecordID: CKRecord.ID?
    /// The lookup information that found the user.
    public let lookupInfo: LookupInfo?
    /// The name. `nil` if the user does not publish it.
    public let nameComponents: PersonNameComponents?
    /// Whether the server has an account for the user.
    public let hasiCloudAccount: Bool

    init(_ identity: UserIdentity, lookupInfo: LookupInfo? = nil) {
        userRecordID = identity.userRecordName.isEmpty ? nil : CKRecord.ID(recordName: identity.userRecordName)
        self.lookupInfo = lookupInfo ?? identity.lookupInfo.map { LookupInfo($0) }
        nameComponents = identity.name.isEmpty ? nil : PersonNameComponents(identity.name)
        hasiCloudAccount = !identity.userRecordName.isEmpty
    }

    var wire: UserIdentity {
        UserIdentity(
            userRecordName: userRecordID?.recordName ?? "", name: NameComponents(nameComponents),
            lookupInfo: lookupInfo?.wire)
    }

    /// Always empty.
    @available(*, deprecated, message: "Linux has no address book")
    public var contactIdentifiers: [String] { [] }

    /// Returns whether an object is an equal identity.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKUserIdentity else { return false }
        if let id = userRecordID { return id == other.userRecordID }
        return other.userRecordID == nil && lookupInfo == other.lookupInfo
    }

    /// A hash of the values that ``isEqual(_:)`` compares.
    public override var hash: Int { userRecordID?.hash ?? lookupInfo?.hash ?? 0 }
    /// Returns the object itself, which is immutable.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    // MARK: Archives

    /// `true`: archives may contain the class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes an archived identity. Returns `nil` if the archive is damaged.
    public convenience init?(coder: NSCoder) {
        guard let identity = UserIdentity.decode(from: coder, forKey: "identity") else { return nil }
        self.init(identity)
    }

    /// Encodes the identity.
    public func encode(with coder: NSCoder) { coder.encode(wire.archived, forKey: "identity") }
}

extension WireMessage {
    /// The message in the form of archives.
    var archived: NSData { NSData(data: Data(encoded())) }

    static func decode(from coder: NSCoder, forKey key: String) -> Self? {
        coder.decodeObject(of: NSData.self, forKey: key).flatMap { try? Self(json: Array(Data(referencing: $0))) }
    }
}

/// How to look up a user: by email address, phone number or record ID.
///
/// The name is that of the Objective-C class, since archives on Linux cannot contain nested classes.
public final class CKUserIdentityLookupInfo: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The email address, if the lookup is by one.
    public let emailAddress: String?
    /// The phone number, if the lookup is by one.
    public let phoneNumber: String?
    /// The record ID, if the lookup is by one.
    public let userRecordID: CKRecord.ID?
    /// The user, if no lookup is needed.
    let knownUser: UserIdentity?

    /// Creates a lookup by email address.
    public init(emailAddress: String) {
        knownUser = nil
        self.emailAddress = emailAddress
        phoneNumber = nil
        userRecordID = nil
    }

    /// Creates a lookup by phone number.
    public init(phoneNumber: String) {
        knownUser = nil
        emailAddress = nil
        self.phoneNumber = phoneNumber
        userRecordID = nil
    }

    /// Creates a lookup by record ID.
    public init(userRecordID: CKRecord.ID) {
        knownUser = nil
        emailAddress = nil
        phoneNumber = nil
        self.userRecordID = userRecordID
    }

    /// Creates the lookup of a user that requested access.
    init(of identity: CKUserIdentity) {
        knownUser = identity.wire
        emailAddress = nil
        phoneNumber = nil
        userRecordID = identity.userRecordID
    }

    convenience init(_ info: LookupInfo) {
        switch info {
        case .emailAddress(let address): self.init(emailAddress: address)
        case .phoneNumber(let number): self.init(phoneNumber: number)
        case .userRecordName(let name): self.init(userRecordID: CKRecord.ID(recordName: name))
        }
    }

    var wire: LookupInfo {
        if let emailAddress { return .emailAddress(emailAddress) }
        if let phoneNumber { return .phoneNumber(phoneNumber) }
        return .userRecordName(userRecordID?.recordName ?? "")
    }

    /// Creates lookups by email addresses.
    public class func lookupInfos(withEmails emails: [String]) -> [CKUserIdentityLookupInfo] {
        emails.map { CKUserIdentityLookupInfo(emailAddress: $0) }
    }

    /// Creates lookups by phone numbers.
    public class func lookupInfos(withPhoneNumbers phoneNumbers: [String]) -> [CKUserIdentityLookupInfo] {
        phoneNumbers.map { CKUserIdentityLookupInfo(phoneNumber: $0) }
    }

    /// Creates lookups by record IDs.
    public class func lookupInfos(with recordIDs: [CKRecord.ID]) -> [CKUserIdentityLookupInfo] {
        recordIDs.map { CKUserIdentityLookupInfo(userRecordID: $0) }
    }

    /// Returns whether an object is equal lookup information.
    public override func isEqual(_ object: Any?) -> Bool { (object as? CKUserIdentityLookupInfo)?.wire == wire }
    /// A hash of the values that ``isEqual(_:)`` compares.
    public override var hash: Int { wire.hashValue }
    /// Returns the object itself, which is immutable.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// `true`: archives may contain the class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes archived lookup information. Returns `nil` if the archive is damaged.
    public convenience init?(coder: NSCoder) {
        if let knownUser = UserIdentity.decode(from: coder, forKey: "known") {
            self.init(of: CKUserIdentity(knownUser))
        } else if let address = coder.decodeObject(of: NSString.self, forKey: "emailAddress") {
            self.init(emailAddress: address as String)
        } else if let number = coder.decodeObject(of: NSString.self, forKey: "phoneNumber") {
            self.init(phoneNumber: number as String)
        } else if let id = coder.decodeObject(of: CKRecord.ID.self, forKey: "userRecordID") {
            self.init(userRecordID: id)
        } else {
            return nil
        }
    }

    /// Encodes the lookup information.
    public func encode(with coder: NSCoder) {
        coder.encode(knownUser?.archived, forKey: "known")
        coder.encode(emailAddress.map { $0 as NSString }, forKey: "emailAddress")
        coder.encode(phoneNumber.map { $0 as NSString }, forKey: "phoneNumber")
        coder.encode(userRecordID, forKey: "userRecordID")
    }
}

extension PersonNameComponents {
    fileprivate init(_ name: NameComponents) {
        self.init()
        namePrefix = name.namePrefix
        givenName = name.givenName
        middleName = name.middleName
        familyName = name.familyName
        nameSuffix = name.nameSuffix
        nickname = name.nickname
        phoneticRepresentation = name.phoneticRepresentation.map { PersonNameComponents($0) }
    }
}

extension NameComponents {
    fileprivate init(_ name: PersonNameComponents?) {
        self.init(givenName: name?.givenName, familyName: name?.familyName)
        namePrefix = name?.namePrefix
        middleName = name?.middleName
        nameSuffix = name?.nameSuffix
        nickname = name?.nickname
        phoneticRepresentation = (name?.phoneticRepresentation).map { NameComponents($0) }
    }
}
