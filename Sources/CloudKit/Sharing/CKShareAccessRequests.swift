// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

extension CKShare {
    /// A user with an open request for access to a share.
    public typealias AccessRequester = CKShareAccessRequester
    /// A user that is blocked from requesting access to a share.
    public typealias BlockedIdentity = CKShareBlockedIdentity
}

/// A user with an open request for access to a share.
///
/// Source: Apple's documentation of `CKShare.AccessRequester`.
public final class CKShareAccessRequester: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The user.
    public let userIdentity: CKUserIdentity

    init(_ identity: UserIdentity) { userIdentity = CKUserIdentity(identity) }

    /// The lookup information of the requester, to create a participant. It also finds users that do not allow lookup.
    public var participantLookupInfo: CKUserIdentity.LookupInfo { CKUserIdentityLookupInfo(of: userIdentity) }

    /// Returns whether an object is an equal requester.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKShareAccessRequester)?.userIdentity == userIdentity
    }
    /// A hash of the values that ``isEqual(_:)`` compares.
    public override var hash: Int { userIdentity.hash }
    /// Returns the object itself, which is immutable.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// `true`: archives may contain the class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes an archived requester. Returns `nil` if the archive is damaged.
    public convenience init?(coder: NSCoder) {
        guard let identity = coder.decodeObject(of: CKUserIdentity.self, forKey: "identity") else { return nil }
        self.init(identity.wire)
    }

    /// Encodes the requester.
    public func encode(with coder: NSCoder) { coder.encode(userIdentity, forKey: "identity") }
}

/// A user that is blocked from requesting access to a share.
///
/// Source: Apple's documentation of `CKShare.BlockedIdentity`.
public final class CKShareBlockedIdentity: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The user.
    public let userIdentity: CKUserIdentity

    init(_ identity: UserIdentity) { userIdentity = CKUserIdentity(identity) }

    /// Returns whether an object is an equal identity.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKShareBlockedIdentity)?.userIdentity == userIdentity
    }
    /// A hash of the values that ``isEqual(_:)`` compares.
    public override var hash: Int { userIdentity.hash }
    /// Returns the object itself, which is immutable.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// `true`: archives may contain the class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes an archived identity. Returns `nil` if the archive is damaged.
    public convenience init?(coder: NSCoder) {
        guard let identity = coder.decodeObject(of: CKUserIdentity.self, forKey: "identity") else { return nil }
        self.init(identity.wire)
    }

    /// Encodes the identity.
    public func encode(with coder: NSCoder) { coder.encode(userIdentity, forKey: "identity") }
}

/// Requests access to shares by their links, from the owners.
///
/// The error of a link is `.permissionFailure` if the owner accepts no requests or has blocked this user,
/// `.participantAlreadyInvited` if the user participates already, `.invalidArguments` if anyone with the link may join,
/// and `.unknownItem` if the link is invalid.
///
/// Source: Apple's documentation of `CKShareRequestAccessOperation`. The blocks' signatures are unverified.
open class CKShareRequestAccessOperation: CKOperation, @unchecked Sendable {  // As its superclass.
    /// The links of the shares.
    public var shareURLs: [URL]?

    /// Called at the end.
    /// Called for each link with its result.
    @preconcurrency public var perShareAccessRequestCompletionBlock: (@Sendable (URL, Result<Void, any Error>) -> Void)?
    @preconcurrency public var shareRequestAccessCompletionBlock: (@Sendable (Result<Void, any Error>) -> Void)?

    /// Creates an operation without inputs. Set its properties before you add it.
    public override init() { super.init() }

    /// Creates an operation with its inputs.
    public convenience init(shareURLs: [URL]) {
        self.init()
        self.shareURLs = shareURLs
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        let errors = ItemErrors()
        let outcomes = try await ContainerRequests(container_, settings).requestAccess(to: shareURLs ?? [])
        await callBlock {
            for outcome in outcomes {
                errors.note(outcome.id, outcome.result)
                self.perShareAccessRequestCompletionBlock?(outcome.id, outcome.result)
            }
        }
        try errors.throwIfAny()
    }

    override func conclude(_ result: Result<Void, any Error>) { shareRequestAccessCompletionBlock?(result) }
}

extension CKContainer {
    /// Requests access to shares; see ``CKShareRequestAccessOperation`` for the errors of single links.
    ///
    /// - Returns: A result for each link.
    /// - Throws: ``CKError`` if the request failed as a whole.
    @discardableResult
    public func requestShareAccess(for urls: [URL]) async throws -> [URL: Result<Void, any Error>] {
        try await ContainerRequests(self).requestAccess(to: urls).byID()
    }

    /// Requests access to shares; completion-handler form of `requestShareAccess(for:)`.
    @preconcurrency
    public func requestShareAccess(
        for urls: [URL], completionHandler: @escaping @Sendable (Result<[URL: Result<Void, any Error>], any Error>) -> Void
    ) {
        complete(completionHandler) { try await self.requestShareAccess(for: urls) }
    }
}
