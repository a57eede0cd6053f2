// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// Who may be invited to a share, for an interface that lets people choose.
///
/// Source: Apple's documentation of `CKSharingParticipantAccessOption`; the raw values are Tarn's own (unverified).
public struct CKSharingParticipantAccessOption: OptionSet, Hashable, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }

    public static let anyoneWithLink = CKSharingParticipantAccessOption(rawValue: 1)
    public static let specifiedRecipientsOnly = CKSharingParticipantAccessOption(rawValue: 2)
    public static let any: CKSharingParticipantAccessOption = [.anyoneWithLink, .specifiedRecipientsOnly]
}

/// What participants of a share may be allowed, for an interface that lets people choose.
///
/// Source: Apple's documentation of `CKSharingParticipantPermissionOption`; the raw values are Tarn's own (unverified).
public struct CKSharingParticipantPermissionOption: OptionSet, Hashable, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }

    public static let readOnly = CKSharingParticipantPermissionOption(rawValue: 1)
    public static let readWrite = CKSharingParticipantPermissionOption(rawValue: 2)
    public static let any: CKSharingParticipantPermissionOption = [.readOnly, .readWrite]
}

/// What an interface for sharing offers to choose from. There is none of the system here: the app's own reads it.
///
/// Source: Apple's documentation of `CKAllowedSharingOptions`.
public final class CKAllowedSharingOptions: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // @unchecked: set up before an interface reads it.
    public var allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption
    public var allowedParticipantAccessOptions: CKSharingParticipantAccessOption
    public var allowsParticipantsToInviteOthers = false
    public var allowsAccessRequests = false

    public init(
        allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption,
        allowedParticipantAccessOptions: CKSharingParticipantAccessOption
    ) {
        self.allowedParticipantPermissionOptions = allowedParticipantPermissionOptions
        self.allowedParticipantAccessOptions = allowedParticipantAccessOptions
    }

    /// Everything, but for inviting others and asking for access.
    public class var standard: CKAllowedSharingOptions {
        CKAllowedSharingOptions(allowedParticipantPermissionOptions: .any, allowedParticipantAccessOptions: .any)
    }

    public func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKAllowedSharingOptions(
            allowedParticipantPermissionOptions: allowedParticipantPermissionOptions,
            allowedParticipantAccessOptions: allowedParticipantAccessOptions)
        copy.allowsParticipantsToInviteOthers = allowsParticipantsToInviteOthers
        copy.allowsAccessRequests = allowsAccessRequests
        return copy
    }

    public static var supportsSecureCoding: Bool { true }

    public convenience init?(coder: NSCoder) {
        self.init(
            allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption(
                rawValue: UInt(bitPattern: coder.decodeInteger(forKey: "permissions"))),
            allowedParticipantAccessOptions: CKSharingParticipantAccessOption(
                rawValue: UInt(bitPattern: coder.decodeInteger(forKey: "access"))))
        allowsParticipantsToInviteOthers = coder.decodeBool(forKey: "inviteOthers")
        allowsAccessRequests = coder.decodeBool(forKey: "accessRequests")
    }

    public func encode(with coder: NSCoder) {
        coder.encode(Int(bitPattern: allowedParticipantPermissionOptions.rawValue), forKey: "permissions")
        coder.encode(Int(bitPattern: allowedParticipantAccessOptions.rawValue), forKey: "access")
        coder.encode(allowsParticipantsToInviteOthers, forKey: "inviteOthers")
        coder.encode(allowsAccessRequests, forKey: "accessRequests")
    }
}
