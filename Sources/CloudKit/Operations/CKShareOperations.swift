// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// Asks what links to shares lead to.
///
/// Source: Apple's documentation of `CKFetchShareMetadataOperation`.
open class CKFetchShareMetadataOperation: CKOperation, @unchecked Sendable {  // As its superclass.
    public var shareURLs: [URL]?
    public var shouldFetchRootRecord = false
    /// Nil wants all fields of the root record, an empty list none.
    public var rootRecordDesiredKeys: [CKRecord.FieldKey]?

    @preconcurrency
    public var perShareMetadataResultBlock: (@Sendable (URL, Result<CKShare.Metadata, any Error>) -> Void)?
    @preconcurrency public var fetchShareMetadataResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    /// Older form of ``perShareMetadataResultBlock``.
    @preconcurrency public var perShareMetadataBlock: (@Sendable (URL, CKShare.Metadata?, (any Error)?) -> Void)?
    /// Older form of ``fetchShareMetadataResultBlock``.
    @preconcurrency public var fetchShareMetadataCompletionBlock: (@Sendable ((any Error)?) -> Void)?

    public override init() { super.init() }

    public convenience init(shareURLs: [URL]) {
        self.init()
        self.shareURLs = shareURLs
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        let errors = ItemErrors()
        let outcomes = try await ContainerRun(container_, settings).metadata(
            for: shareURLs ?? [], fetchesRoot: shouldFetchRootRecord, desiredKeys: rootRecordDesiredKeys)
        await tell {
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

/// Joins shares.
///
/// Source: Apple's documentation of `CKAcceptSharesOperation`.
open class CKAcceptSharesOperation: CKOperation, @unchecked Sendable {  // As its superclass.
    public var shareMetadatas: [CKShare.Metadata]?

    @preconcurrency public var perShareResultBlock: (@Sendable (CKShare.Metadata, Result<CKShare, any Error>) -> Void)?
    @preconcurrency public var acceptSharesResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    /// Older form of ``perShareResultBlock``.
    @preconcurrency
    public var perShareCompletionBlock: (@Sendable (CKShare.Metadata, CKShare?, (any Error)?) -> Void)?
    /// Older form of ``acceptSharesResultBlock``.
    @preconcurrency public var acceptSharesCompletionBlock: (@Sendable ((any Error)?) -> Void)?

    public override init() { super.init() }

    public convenience init(shareMetadatas: [CKShare.Metadata]) {
        self.init()
        self.shareMetadatas = shareMetadatas
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        let errors = ItemErrors()
        let outcomes = try await ContainerRun(container_, settings).accept(shareMetadatas ?? [])
        await tell {
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

/// Finds people to share with.
///
/// Source: Apple's documentation of `CKFetchShareParticipantsOperation`.
open class CKFetchShareParticipantsOperation: CKOperation, @unchecked Sendable {  // As its superclass.
    public var userIdentityLookupInfos: [CKUserIdentity.LookupInfo]?

    @preconcurrency
    public var perShareParticipantResultBlock:
        (@Sendable (CKUserIdentity.LookupInfo, Result<CKShare.Participant, any Error>) -> Void)?
    @preconcurrency public var fetchShareParticipantsResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    /// Older form of ``perShareParticipantResultBlock``, without errors.
    @preconcurrency public var shareParticipantFetchedBlock: (@Sendable (CKShare.Participant) -> Void)?
    /// Older form of ``fetchShareParticipantsResultBlock``.
    @preconcurrency public var fetchShareParticipantsCompletionBlock: (@Sendable ((any Error)?) -> Void)?

    public override init() { super.init() }

    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init()
        self.userIdentityLookupInfos = userIdentityLookupInfos
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        let errors = ItemErrors()
        let outcomes = try await ContainerRun(container_, settings).participants(userIdentityLookupInfos ?? [])
        await tell {
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

/// Finds people who agreed to be found.
///
/// Source: Apple's documentation of `CKDiscoverUserIdentitiesOperation`.
open class CKDiscoverUserIdentitiesOperation: CKOperation, @unchecked Sendable {  // As its superclass.
    public var userIdentityLookupInfos: [CKUserIdentity.LookupInfo] = []

    @preconcurrency
    public var userIdentityDiscoveredBlock: (@Sendable (CKUserIdentity, CKUserIdentity.LookupInfo) -> Void)?
    @preconcurrency public var discoverUserIdentitiesResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    /// Older form of ``discoverUserIdentitiesResultBlock``.
    @preconcurrency public var discoverUserIdentitiesCompletionBlock: (@Sendable ((any Error)?) -> Void)?

    public override init() { super.init() }

    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init()
        self.userIdentityLookupInfos = userIdentityLookupInfos
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        let outcomes = try await ContainerRun(container_, settings).identities(userIdentityLookupInfos)
        await tell {
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

/// Gets a token by which a web page signs this user in.
///
/// Source: Apple's documentation of `CKFetchWebAuthTokenOperation`.
open class CKFetchWebAuthTokenOperation: CKDatabaseOperation, @unchecked Sendable {  // As its superclass.
    public var apiToken: String?

    @preconcurrency public var fetchWebAuthTokenResultBlock: (@Sendable (Result<String, any Error>) -> Void)?
    /// Older form of ``fetchWebAuthTokenResultBlock``.
    @preconcurrency public var fetchWebAuthTokenCompletionBlock: (@Sendable (String?, (any Error)?) -> Void)?

    private let token = Locked<String?>(nil)

    public override init() { super.init() }

    public convenience init(apiToken: String) {
        self.init()
        self.apiToken = apiToken
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        guard let apiToken else { throw CKError(.invalidArguments, "the operation has no API token") }
        let fetched = try await ContainerRun(target.container, settings).webAuthToken(apiToken)
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
