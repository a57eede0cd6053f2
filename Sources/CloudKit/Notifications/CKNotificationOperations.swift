// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Operations on notifications that Apple's server stores. Tarn's server delivers notifications without storing them,
// and has no badge. The operations exist so that old code compiles, and fail with an error that names the alternative.

extension CKError {
    fileprivate static let noKeptNotifications = CKError(
        .serverRejectedRequest, "the server does not store notifications: fetch the changes of databases and zones instead")
}

/// Fetches the notifications since a token. Fails with `.serverRejectedRequest`: fetch the changes of databases and
/// zones instead.
///
/// Source: Apple's documentation of `CKFetchNotificationChangesOperation`, which is deprecated.
@available(*, deprecated, message: "use CKFetchDatabaseChangesOperation and CKFetchRecordZoneChangesOperation")
open class CKFetchNotificationChangesOperation: CKOperation, @unchecked Sendable {  // As its superclass.
    /// The token of the last fetch. Has no effect.
    public var previousServerChangeToken: CKServerChangeToken?
    /// The maximum number of notifications. Has no effect.
    public var resultsLimit = 0
    /// Always `false`.
    public let moreComing = false

    /// Called with the error.
    /// Never called.
    @preconcurrency public var notificationChangedBlock: (@Sendable (CKNotification) -> Void)?
    @preconcurrency
    public var fetchNotificationChangesCompletionBlock: (@Sendable (CKServerChangeToken?, (any Error)?) -> Void)?

    /// Creates an operation.
    public override init() { super.init() }

    /// Creates an operation with a token.
    public convenience init(previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        self.previousServerChangeToken = previousServerChangeToken
    }

    override func carryOut(_ settings: OperationSettings) async throws { throw CKError.noKeptNotifications }

    override func conclude(_ result: Result<Void, any Error>) {
        fetchNotificationChangesCompletionBlock?(nil, result.failure)
    }
}

/// Marks notifications as read. Fails with `.serverRejectedRequest`.
///
/// Source: Apple's documentation of `CKMarkNotificationsReadOperation`, which is deprecated.
@available(*, deprecated, message: "the server does not store notifications")
open class CKMarkNotificationsReadOperation: CKOperation, @unchecked Sendable {  // As its superclass.
    /// The notifications to mark.
    public var notificationIDs: [CKNotification.ID] = []

    /// Called with the error.
    @preconcurrency
    public var markNotificationsReadCompletionBlock: (@Sendable ([CKNotification.ID]?, (any Error)?) -> Void)?

    /// Creates an operation.
    public override init() { super.init() }

    /// Creates an operation with the notifications to mark.
    public convenience init(notificationIDsToMarkRead notificationIDs: [CKNotification.ID]) {
        self.init()
        self.notificationIDs = notificationIDs
    }

    override func carryOut(_ settings: OperationSettings) async throws { throw CKError.noKeptNotifications }

    override func conclude(_ result: Result<Void, any Error>) {
        markNotificationsReadCompletionBlock?(nil, result.failure)
    }
}

/// Sets the number on the app's icon. Fails with `.serverRejectedRequest`, since Linux has no icon badge.
///
/// Source: Apple's documentation of `CKModifyBadgeOperation`, which is deprecated.
@available(*, deprecated, message: "badges are not supported")
open class CKModifyBadgeOperation: CKOperation, @unchecked Sendable {  // As its superclass.
    /// The number to show.
    public var badgeValue = 0

    /// Called with the error.
    @preconcurrency public var modifyBadgeCompletionBlock: (@Sendable ((any Error)?) -> Void)?

    /// Creates an operation.
    public override init() { super.init() }

    /// Creates an operation with the number to show.
    public convenience init(badgeValue: Int) {
        self.init()
        self.badgeValue = badgeValue
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        throw CKError(.serverRejectedRequest, "badges are not supported")
    }

    override func conclude(_ result: Result<Void, any Error>) { modifyBadgeCompletionBlock?(result.failure) }
}
