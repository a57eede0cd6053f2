// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// Fetches the metadata of shares by their links.
///
/// Source: Apple's documentation of `CKFetchShareMetadataOperation`.
open class CKFetchShareMetadataOperation: CKOperation, @unchecked Sendable {  // As its superclass.
    /// The links of the shares.
    public var shareURLs: [URL]?
    /// Whether to fetch the root record, too.
    public var shouldFetchRootRecord = false
    /// The fields of the root record to fetch. `nil` fetches all fields, an empty list none.
    public var rootRecordDesiredKeys: [CKRecord.FieldKey]?

    /// Called for each link with its result.
    @preconcurrency
    public var perShareMetadataResultBlock: (@Sendable (URL, Result<CKShare.Metadata, any Error>) -> Void)?
    /// Called at the end.
    @preconcurrency public var fetchShareMetadataResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    /// Older form of ``perShareMetadataResultBlock``.
    @preconcurrency public var perShareMetadataBlock: (@Sendable (URL, CKShare.Metadata?, (any Error)?) -> Void)?
    /// Older form of ``fetchShareMetadataResultBlock``.
    @preconcurrency public var fetchShareMetadataCompletionBlock: (@Sendable ((any Error)?) -> Void)?

    /// Creates an operation without inputs. Set its properties before you add it.
    public override init() { super.init() }

    /// Creates an operation with its inputs.
    public convenience init(shareURLs: [URL]) {
        self.init()
        self.shareURLs = shareURLs
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        let errors = ItemErrors()
        let outcomes = try await ContainerRequests(container_, settings).metadata(
            for: shareURLs ?? [], fetchesRoot: shouldFetchRootRecord, desiredKeys: rootRecordDesiredKeys)
        await callBlock {
            for outcome in outcomes {
                errors.note(outcome.id, outcome.result)
                self.perShareMetadataResultBlock?(outcome.id, outcome.result)
                self.perShareMetadataBlock?(outcome.id, outcome.result.value, outcome.result.failure)
            }
        }
        try errors.throwIfAny()
    }

    override func conclude(_ result: Result<Void, any Error>) {
        fetchShareMetadataResultBlock?(result)
        fetchShareMetadataCompletionBlock?(result.failure)
    }
}

/// Accepts shares.
///
/// Source: Apple's documentation of `CKAcceptSharesOperation`.
open class CKAcceptSharesOperation: CKOperation, @unchecked Sendable {  // As its superclass.
    /// The shares to accept.
    public var shareMetadatas: [CKShare.Metadata]?

    /// Called at the end.
    /// Called for each share with its result.
    @preconcurrency public var perShareResultBlock: (@Sendable (CKShare.Metadata, Result<CKShare, any Error>) -> Void)?
    @preconcurrency public var acceptSharesResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    /// Older form of ``perShareResultBlock``.
    @preconcurrency
    public var perShareCompletionBlock: (@Sendable (CKShare.Metadata, CKShare?, (any Error)?) -> Void)?
    /// Older form of ``acceptSharesResultBlock``.
    @preconcurrency public var acceptSharesCompletionBlock: (@Sendable ((any Error)?) -> Void)?

    /// Creates an operation without inputs. Set its properties before you add it.
    public override init() { super.init() }

    /// Creates an operation with its inputs.
    public convenience init(shareMetadatas: [CKShare.Metadata]) {
        self.init()
        self.shareMetadatas = shareMetadatas
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        let errors = ItemErrors()
        let outcomes = try await ContainerRequests(container_, settings).accept(shareMetadatas ?? [])
        await callBlock {
            for outcome in outcomes {
                errors.note(outcome.id, outcome.result)
                self.perShareResultBlock?(outcome.id, outcome.result)
                self.perShareCompletionBlock?(outcome.id, outcome.result.value, outcome.result.failure)
            }
        }
        try errors.throwIfAny()
    }

    override func conclude(_ result: Result<Void, any Error>) {
        acceptSharesResultBlock?(result)
        acceptSharesCompletionBlock?(result.failure)
    }
}

/// Finds users by their addresses, to invite them to a share.
///
/// Source: Apple's documentation of `CKFetchShareParticipantsOperation`.
open class CKFetchShareParticipantsOperation: CKOperation, @unchecked Sendable {  // As its superclass.
    /// The users to find.
    public var userIdentityLookupInfos: [CKUserIdentity.LookupInfo]?

    /// Called for each user with its result.
    @preconcurrency
    public var perShareParticipantResultBlock: (@Sendable (CKUserIdentity.LookupInfo, Result<CKShare.Participant, any Error>) -> Void)?
    /// Called at the end.
    @preconcurrency public var fetchShareParticipantsResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    /// Older form of ``perShareParticipantResultBlock``, without errors.
    @preconcurrency public var shareParticipantFetchedBlock: (@Sendable (CKShare.Participant) -> Void)?
    /// Older form of ``fetchShareParticipantsResultBlock``.
    @preconcurrency public var fetchShareParticipantsCompletionBlock: (@Sendable ((any Error)?) -> Void)?

    /// Creates an operation without inputs. Set its properties before you add it.
    public override init() { super.init() }

    /// Creates an operation with its inputs.
    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init()
        self.userIdentityLookupInfos = userIdentityLookupInfos
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        let errors = ItemErrors()
        let outcomes = try await ContainerRequests(container_, settings).participants(userIdentityLookupInfos ?? [])
        await callBlock {
            for outcome in outcomes {
                errors.note(outcome.id, outcome.result)
                self.perShareParticipantResultBlock?(outcome.id, outcome.result)
                if let participant = outcome.result.value { self.shareParticipantFetchedBlock?(participant) }
            }
        }
        try errors.throwIfAny()
    }

    override func conclude(_ result: Result<Void, any Error>) {
        fetchShareParticipantsResultBlock?(result)
        fetchShareParticipantsCompletionBlock?(result.failure)
    }
}

/// Finds users that allow lookup.
///
/// Source: Apple's documentation of `CKDiscoverUserIdentitiesOperation`.
open class CKDiscoverUserIdentitiesOperation: CKOperation, @unchecked Sendable {  // As its superclass.
    /// The users to find.
    public var userIdentityLookupInfos: [CKUserIdentity.LookupInfo] = []

    /// Called for each user that was found.
    @preconcurrency
    public var userIdentityDiscoveredBlock: (@Sendable (CKUserIdentity, CKUserIdentity.LookupInfo) -> Void)?
    /// Called at the end.
    @preconcurrency public var discoverUserIdentitiesResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    /// Older form of ``discoverUserIdentitiesResultBlock``.
    @preconcurrency public var discoverUserIdentitiesCompletionBlock: (@Sendable ((any Error)?) -> Void)?

    /// Creates an operation without inputs. Set its properties before you add it.
    public override init() { super.init() }

    /// Creates an operation with its inputs.
    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init()
        self.userIdentityLookupInfos = userIdentityLookupInfos
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        let outcomes = try await ContainerRequests(container_, settings).identities(userIdentityLookupInfos)
        await callBlock {
            for outcome in outcomes {
                if let identity = outcome.result.value { self.userIdentityDiscoveredBlock?(identity, outcome.id) }
            }
        }
    }

    override func conclude(_ result: Result<Void, any Error>) {
        discoverUserIdentitiesResultBlock?(result)
        discoverUserIdentitiesCompletionBlock?(result.failure)
    }
}

/// Fetches a token that signs this user in on a web page.
///
/// Source: Apple's documentation of `CKFetchWebAuthTokenOperation`.
open class CKFetchWebAuthTokenOperation: CKDatabaseOperation, @unchecked Sendable {  // As its superclass.
    /// The API token of the web page.
    public var apiToken: String?

    /// Called at the end with the token.
    @preconcurrency public var fetchWebAuthTokenResultBlock: (@Sendable (Result<String, any Error>) -> Void)?
    /// Older form of ``fetchWebAuthTokenResultBlock``.
    @preconcurrency public var fetchWebAuthTokenCompletionBlock: (@Sendable (String?, (any Error)?) -> Void)?

    private let token = Locked<String?>(nil)

    /// Creates an operation without inputs. Set its properties before you add it.
    public override init() { super.init() }

    /// Creates an operation with its inputs.
    public convenience init(apiToken: String) {
        self.init()
        self.apiToken = apiToken
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        guard let apiToken else { throw CKError(.invalidArguments, "the operation has no API token") }
        let fetched = try await ContainerRequests(target.container, settings).webAuthToken(apiToken)
        token.update { $0 = fetched }
    }

    override func conclude(_ result: Result<Void, any Error>) {
        let token = token.value
        fetchWebAuthTokenResultBlock?(result.map { token ?? "" })
        fetchWebAuthTokenCompletionBlock?(token, result.failure)
    }
}

extension Result {
    /// The value, unless it is an error.
    var value: Success? {
        if case .success(let value) = self { value } else { nil }
    }
}
