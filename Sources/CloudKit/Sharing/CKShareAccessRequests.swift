// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

extension CKShare {
    public typealias AccessRequester = CKShareAccessRequester
    public typealias BlockedIdentity = CKShareBlockedIdentity
}

/// Somebody who asked to take part in a share.
///
/// Source: Apple's documentation of `CKShare.AccessRequester`.
public final class CKShareAccessRequester: NSObject, NSCopying, NSSecureCoding, Sendable {
    public let userIdentity: CKUserIdentity

    init(_ identity: UserIdentity) { userIdentity = CKUserIdentity(identity) }

    /// By this a participant is made of the requester, also of one who does not want to be found by others.
    public var participantLookupInfo: CKUserIdentity.LookupInfo { CKUserIdentityLookupInfo(of: userIdentity) }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKShareAccessRequester)?.userIdentity == userIdentity
    }
    public override var hash: Int { userIdentity.hash }
    public func copy(with zone: NSZone? = nil) -> Any { self }

    public static var supportsSecureCoding: Bool { true }

    public convenience init?(coder: NSCoder) {
        guard let identity = coder.decodeObject(of: CKUserIdentity.self, forKey: "identity") else { return nil }
        self.init(identity.wire)
    }

    public func encode(with coder: NSCoder) { coder.encode(userIdentity, forKey: "identity") }
}

/// Somebody who may not ask to take part in a share.
///
/// Source: Apple's documentation of `CKShare.BlockedIdentity`.
public final class CKShareBlockedIdentity: NSObject, NSCopying, NSSecureCoding, Sendable {
    public let userIdentity: CKUserIdentity

    init(_ identity: UserIdentity) { userIdentity = CKUserIdentity(identity) }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKShareBlockedIdentity)?.userIdentity == userIdentity
    }
    public override var hash: Int { userIdentity.hash }
    public func copy(with zone: NSZone? = nil) -> Any { self }

    public static var supportsSecureCoding: Bool { true }

    public convenience init?(coder: NSCoder) {
        guard let identity = coder.decodeObject(of: CKUserIdentity.self, forKey: "identity") else { return nil }
        self.init(identity.wire)
    }

    public func encode(with coder: NSCoder) { coder.encode(userIdentity, forKey: "identity") }
}

/// Asks the owners of shares for access, by links that lead to nothing yet for who asks.
///
/// An owner who does not take requests, and one who does not want to hear of this person, are `.permissionFailure`; who takes
/// part already is `.participantAlreadyInvited`; a share that is open to everybody who has the link is `.invalidArguments`,
/// and can be joined. A link that leads nowhere is `.unknownItem`.
///
/// Source: Apple's documentation of `CKShareRequestAccessOperation`. The blocks' signatures are unverified.
open class CKShareRequestAccessOperation: CKOperation, @unchecked Sendable {  // As its superclass.
    public var shareURLs: [URL]?

    @preconcurrency public var perShareAccessRequestCompletionBlock: (@Sendable (URL, Result<Void, any Error>) -> Void)?
    @preconcurrency public var shareRequestAccessCompletionBlock: (@Sendable (Result<Void, any Error>) -> Void)?

    public override init() { super.init() }

    public convenience init(shareURLs: [URL]) {
        self.init()
        self.shareURLs = shareURLs
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        let errors = ItemErrors()
        let outcomes = try await ContainerRun(container_, settings).requestAccess(to: shareURLs ?? [])
        await tell {
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
    /// Asks the owners of shares for access; see ``CKShareRequestAccessOperation`` for errors.
    @discardableResult
    public func requestShareAccess(for urls: [URL]) async throws -> [URL: Result<Void, any Error>] {
        try await ContainerRun(self).requestAccess(to: urls).byID()
    }

    @preconcurrency
    public func requestShareAccess(
        for urls: [URL], completionHandler: @escaping @Sendable (Result<[URL: Result<Void, any Error>], any Error>) -> Void
    ) {
        answer(completionHandler) { try await self.requestShareAccess(for: urls) }
    }
}
