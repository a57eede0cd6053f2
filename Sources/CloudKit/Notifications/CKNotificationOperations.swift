// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// What Apple's framework has for notifications that a server keeps. Tarn's server hands notifications over and forgets
// them, and there is no badge; the operations are there so that old code compiles, and end with an error that says what
// to do instead.

extension CKError {
    fileprivate static let noKeptNotifications = CKError(
        .serverRejectedRequest, "the server keeps no notifications: fetch the changes of databases and zones instead")
}

/// Asks for the notifications since a token. Ends with `.serverRejectedRequest`: fetch changes of databases and zones.
///
/// Source: Apple's documentation of `CKFetchNotificationChangesOperation`, which is deprecated.
@available(*, deprecated, message: "use CKFetchDatabaseChangesOperation and CKFetchRecordZoneChangesOperation")
open class CKFetchNotificationChangesOperation: CKOperation, @unchecked Sendable {  // As its superclass.
    public var previousServerChangeToken: CKServerChangeToken?
    public var resultsLimit = 0
    public let moreComing = false

    @preconcurrency public var notificationChangedBlock: (@Sendable (CKNotification) -> Void)?
    @preconcurrency
    public var fetchNotificationChangesCompletionBlock: (@Sendable (CKServerChangeToken?, (any Error)?) -> Void)?

    public override init() { super.init() }

    public convenience init(previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        self.previousServerChangeToken = previousServerChangeToken
    }

    override func carryOut(_ settings: OperationSettings) async throws { throw CKError.noKeptNotifications }

    override func conclude(_ result: Result<Void, any Error>) {
        fetchNotificationChangesCompletionBlock?(nil, result.failure)
    }
}

/// Tells the server that notifications were seen. Ends with `.serverRejectedRequest`.
///
/// Source: Apple's documentation of `CKMarkNotificationsReadOperation`, which is deprecated.
@available(*, deprecated, message: "the server keeps no notifications")
open class CKMarkNotificationsReadOperation: CKOperation, @unchecked Sendable {  // As its superclass.
    public var notificationIDs: [CKNotification.ID] = []

    @preconcurrency
    public var markNotificationsReadCompletionBlock: (@Sendable ([CKNotification.ID]?, (any Error)?) -> Void)?

    public override init() { super.init() }

    public convenience init(notificationIDsToMarkRead notificationIDs: [CKNotification.ID]) {
        self.init()
        self.notificationIDs = notificationIDs
    }

    override func carryOut(_ settings: OperationSettings) async throws { throw CKError.noKeptNotifications }

    override func conclude(_ result: Result<Void, any Error>) {
        markNotificationsReadCompletionBlock?(nil, result.failure)
    }
}

/// Sets the number on the app's icon. Ends with `.serverRejectedRequest`: no icon has one.
///
/// Source: Apple's documentation of `CKModifyBadgeOperation`, which is deprecated.
@available(*, deprecated, message: "there is no badge")
open class CKModifyBadgeOperation: CKOperation, @unchecked Sendable {  // As its superclass.
    public var badgeValue = 0

    @preconcurrency public var modifyBadgeCompletionBlock: (@Sendable ((any Error)?) -> Void)?

    public override init() { super.init() }

    public convenience init(badgeValue: Int) {
        self.init()
        self.badgeValue = badgeValue
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        throw CKError(.serverRejectedRequest, "there is no badge to set")
    }

    override func conclude(_ result: Result<Void, any Error>) { modifyBadgeCompletionBlock?(result.failure) }
}
