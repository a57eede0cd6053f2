// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// A person, as this container knows them.
///
/// Source: Apple's documentation of `CKUserIdentity`.
public final class CKUserIdentity: NSObject, NSCopying, NSSecureCoding, Sendable {
    public typealias LookupInfo = CKUserIdentityLookupInfo

    public let userRecordID: CKRecord.ID?
    /// How the person was looked up.
    public let lookupInfo: LookupInfo?
    /// Nil if the person does not tell it.
    public let nameComponents: PersonNameComponents?
    /// Whether the server knows the person.
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

    @available(*, deprecated, message: "there is no address book")
    public var contactIdentifiers: [String] { [] }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKUserIdentity else { return false }
        if let id = userRecordID { return id == other.userRecordID }
        return other.userRecordID == nil && lookupInfo == other.lookupInfo
    }

    public override var hash: Int { userRecordID?.hash ?? lookupInfo?.hash ?? 0 }
    public func copy(with zone: NSZone? = nil) -> Any { self }

    // MARK: Archives

    public static var supportsSecureCoding: Bool { true }

    public convenience init?(coder: NSCoder) {
        guard let identity = UserIdentity.decode(from: coder, forKey: "identity") else { return nil }
        self.init(identity)
    }

    public func encode(with coder: NSCoder) { coder.encode(wire.archived, forKey: "identity") }
}

extension WireMessage {
    /// The message as archives hold it.
    var archived: NSData { NSData(data: Data(encoded())) }

    static func decode(from coder: NSCoder, forKey key: String) -> Self? {
        coder.decodeObject(of: NSData.self, forKey: key).flatMap { try? Self(json: Array(Data(referencing: $0))) }
    }
}

/// By what a person is looked up.
///
/// The name is that of the Objective-C class; archives on Linux hold classes that are not nested only.
public final class CKUserIdentityLookupInfo: NSObject, NSCopying, NSSecureCoding, Sendable {
    public let emailAddress: String?
    public let phoneNumber: String?
    public let userRecordID: CKRecord.ID?
    /// Whom this is about, if that is known without asking.
    let known: UserIdentity?

    public init(emailAddress: String) {
        known = nil
        self.emailAddress = emailAddress
        phoneNumber = nil
        userRecordID = nil
    }

    public init(phoneNumber: String) {
        known = nil
        emailAddress = nil
        self.phoneNumber = phoneNumber
        userRecordID = nil
    }

    public init(userRecordID: CKRecord.ID) {
        known = nil
        emailAddress = nil
        phoneNumber = nil
        self.userRecordID = userRecordID
    }

    /// Of somebody who made themselves known.
    init(of identity: CKUserIdentity) {
        known = identity.wire
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

    public class func lookupInfos(withEmails emails: [String]) -> [CKUserIdentityLookupInfo] {
        emails.map { CKUserIdentityLookupInfo(emailAddress: $0) }
    }

    public class func lookupInfos(withPhoneNumbers phoneNumbers: [String]) -> [CKUserIdentityLookupInfo] {
        phoneNumbers.map { CKUserIdentityLookupInfo(phoneNumber: $0) }
    }

    public class func lookupInfos(with recordIDs: [CKRecord.ID]) -> [CKUserIdentityLookupInfo] {
        recordIDs.map { CKUserIdentityLookupInfo(userRecordID: $0) }
    }

    public override func isEqual(_ object: Any?) -> Bool { (object as? CKUserIdentityLookupInfo)?.wire == wire }
    public override var hash: Int { wire.hashValue }
    public func copy(with zone: NSZone? = nil) -> Any { self }

    public static var supportsSecureCoding: Bool { true }

    public convenience init?(coder: NSCoder) {
        if let known = UserIdentity.decode(from: coder, forKey: "known") {
            self.init(of: CKUserIdentity(known))
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

    public func encode(with coder: NSCoder) {
        coder.encode(known?.archived, forKey: "known")
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
