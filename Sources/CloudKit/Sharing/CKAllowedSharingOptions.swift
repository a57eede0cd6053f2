// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// The ways to join a share that a user interface offers.
///
/// Source: Apple's documentation of `CKSharingParticipantAccessOption`; the raw values are Tarn's own (unverified).
public struct CKSharingParticipantAccessOption: OptionSet, Hashable, Sendable {
    /// The bits of the set.
    public let rawValue: UInt
    /// Creates a set from its bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Anyone with the link may join.
    public static let anyoneWithLink = CKSharingParticipantAccessOption(rawValue: 1)
    /// Only invited users may join.
    public static let specifiedRecipientsOnly = CKSharingParticipantAccessOption(rawValue: 2)
    /// All ways.
    public static let any: CKSharingParticipantAccessOption = [.anyoneWithLink, .specifiedRecipientsOnly]
}

/// The permissions of participants that a user interface offers.
///
/// Source: Apple's documentation of `CKSharingParticipantPermissionOption`; the raw values are Tarn's own (unverified).
public struct CKSharingParticipantPermissionOption: OptionSet, Hashable, Sendable {
    /// The bits of the set.
    public let rawValue: UInt
    /// Creates a set from its bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Participants may read.
    public static let readOnly = CKSharingParticipantPermissionOption(rawValue: 1)
    /// Participants may read and write.
    public static let readWrite = CKSharingParticipantPermissionOption(rawValue: 2)
    /// All permissions.
    public static let any: CKSharingParticipantPermissionOption = [.readOnly, .readWrite]
}

/// The options that a user interface for sharing offers. Linux has no system interface, so the app's own reads them.
///
/// Source: Apple's documentation of `CKAllowedSharingOptions`.
public final class CKAllowedSharingOptions: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // @unchecked: set before a user interface reads it.
    /// The permissions to offer.
    public var allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption
    /// The ways to join to offer.
    public var allowedParticipantAccessOptions: CKSharingParticipantAccessOption
    /// Whether to offer that participants invite others.
    public var allowsParticipantsToInviteOthers = false
    /// Whether to offer that uninvited users request access.
    public var allowsAccessRequests = false

    /// Creates options.
    public init(
        allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption,
        allowedParticipantAccessOptions: CKSharingParticipantAccessOption
    ) {
        self.allowedParticipantPermissionOptions = allowedParticipantPermissionOptions
        self.allowedParticipantAccessOptions = allowedParticipantAccessOptions
    }

    /// All options, except inviting others and requesting access.
    public class var standard: CKAllowedSharingOptions {
        CKAllowedSharingOptions(allowedParticipantPermissionOptions: .any, allowedParticipantAccessOptions: .any)
    }

    /// Returns an independent copy.
    public func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKAllowedSharingOptions(
            allowedParticipantPermissionOptions: allowedParticipantPermissionOptions,
            allowedParticipantAccessOptions: allowedParticipantAccessOptions)
        copy.allowsParticipantsToInviteOthers = allowsParticipantsToInviteOthers
        copy.allowsAccessRequests = allowsAccessRequests
        return copy
    }

    /// `true`: archives may contain the class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes archived options. Returns `nil` if the archive is damaged.
    public convenience init?(coder: NSCoder) {
        self.init(
            allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption(
                rawValue: UInt(bitPattern: coder.decodeInteger(forKey: "permissions"))),
            allowedParticipantAccessOptions: CKSharingParticipantAccessOption(
                rawValue: UInt(bitPattern: coder.decodeInteger(forKey: "access"))))
        allowsParticipantsToInviteOthers = coder.decodeBool(forKey: "inviteOthers")
        allowsAccessRequests = coder.decodeBool(forKey: "accessRequests")
    }

    /// Encodes the options.
    public func encode(with coder: NSCoder) {
        coder.encode(Int(bitPattern: allowedParticipantPermissionOptions.rawValue), forKey: "permissions")
        coder.encode(Int(bitPattern: allowedParticipantAccessOptions.rawValue), forKey: "access")
        coder.encode(allowsParticipantsToInviteOthers, forKey: "inviteOthers")
        coder.encode(allowsAccessRequests, forKey: "accessRequests")
    }
}
