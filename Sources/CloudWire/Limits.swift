// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Sizes and counts that both sides enforce. This is their only definition; an operator may lower them.
///
/// Source: *CloudKit Web Services Reference*, "Data Size Limits"; the framework's own numbers (400 items,
/// 2 MB a request) come from Apple's `CKModifyRecordsOperation` documentation.
package struct Limits: Hashable, Sendable {
    /// Maximum size of a JSON text in bytes, on either side. Not configurable, since responses may be as large.
    package static let messageBytes = 64_000_000

    package var operationsPerRequest = 400
    package var recordsPerResponse = 200
    /// Records of one change page, for clients that request ``Capability/largePages``.
    package var recordsPerLargePage = 1000
    /// Bytes of all snapshots of a server process; 0 makes none.
    package var snapshotBytes = 4_000_000_000
    /// Seconds after which a snapshot is removed.
    package var snapshotSeconds = 86_400
    /// Records of the smallest zone that gets a snapshot.
    package var snapshotRecordsMin = 500
    /// Snapshots that a server process sends concurrently: to one sender, and to all.
    package var snapshotStreamsPerUser = 4
    package var snapshotStreams = 64
    package var assetTokensPerRequest = 200
    /// Uploads that a private database has begun within ``assetUploadSeconds`` and that have no complete file. An account begins as many in
    /// other databases in a minute, receipts for assets of records included.
    package var openUploads = 4000
    /// Bytes of one record without assets.
    package var recordBytes = 1_000_000
    /// Bytes of the records of one modify request, without assets.
    package var requestRecordBytes = 2_000_000
    /// Requests of one ``SaveGroup``.
    package var requestsPerSaveGroup = 128
    /// Bytes of the bodies of one ``SaveGroup``.
    package var saveGroupBytes = 128_000_000
    /// Incomplete groups of each device, and of all devices of a user. The oldest groups are dropped.
    package var saveGroupsPerDevice = 4
    package var saveGroupsPerUser = 32
    /// Bytes of the bodies of all incomplete groups, for each user of a database. The oldest groups are dropped.
    package var stagedBytesPerUser = 256_000_000
    /// Bytes of any JSON body. Larger bodies are rejected before they are read.
    package var requestBodyBytes = 16_000_000
    /// Bytes of bodies without records, and of bodies of anonymous clients.
    package var shortBodyBytes = 1_000_000
    package var anonymousBodyBytes = 256_000
    /// Members of objects and elements of lists in the body of one request.
    package var valuesPerRequest = 500_000
    /// Bytes of memory for all concurrent requests while they are read, decoded and answered.
    package var requestMemoryBytes = 256_000_000
    package var assetBytes: Int64 = 50_000_000
    /// Seconds for which an asset's upload address is valid.
    package var assetUploadSeconds = 900
    /// Seconds for which a begun upload can be resumed after its address has expired.
    package var assetResumeSeconds = 86_400
    /// Seconds for which an asset's download address is valid.
    package var assetDownloadSeconds = 3600
    /// Bytes of records after which a change page ends, without assets.
    package var responseRecordBytes = 4_000_000
    package var zonesPerDatabase = 1000
    package var subscriptionsPerDatabase = 200
    /// Bytes of stored responses to requests with idempotency keys, in one database.
    package var answerBytes = 16_000_000
    package var fieldsPerNotification = 3
    package var recordNameCharacters = 255
    package var zoneNameCharacters = 255
    package var fieldsPerRecord = 256
    /// `DELETE_SELF` references to one record.
    package var deletingReferencesPerRecord = 750
    /// Records that the deletion of one record deletes by cascade, and the references to them.
    package var recordsTakenAlong = 10_000
    /// Requests of one user per minute, which is also the size of a burst; 0 means no limit.
    package var requestsPerMinute = 0
    /// Requests to databases that run concurrently, half of them at most of one sender; 0 means no limit. More requests wait, and are
    /// refused once they have waited ``queueMilliseconds``, or a twentieth of it while there is a standing queue.
    package var concurrentRequests = 0
    package var queueMilliseconds = 100
    /// Bytes of records and assets in a user's private database of one container and environment, and in the public
    /// database; 0 means no limit. The operator may set another number for a user.
    package var userBytes = 0
    package var publicBytes = 0
    /// Tombstones with which a database with a quota rejects new records, since they take no room of the quota; 0 means no limit. They expire
    /// after 90 days.
    package var tombstonesPerDatabase = 1_000_000
    /// Days for which earlier versions of records are stored, so that a zone can be restored; 0 stores none.
    package var historyDays = 0
    /// Days for which events of the audit log are stored.
    package var auditDays = 400
    package var filtersPerQuery = 64
    package var sortsPerQuery = 8
    /// Values in the list of one filter.
    package var valuesPerFilter = 256
    /// Records scanned for one page of a query. A page that ends at this limit is short and has a continuation marker.
    package var recordsScannedPerPage = 10_000
    /// Records that a query takes into missing indexes before it is answered. The rest is indexed while its client waits to retry.
    package var recordsIndexedPerQuery = 20_000
    /// Bytes that one page of a query may look at, comparisons included. A query that cannot end a page early may look at four times as many.
    package var queryBytesPerPage = 32_000_000
    /// Bytes that the query subscriptions of all users may look at after one request; those that are left are skipped.
    package var subscriptionWorkPerRequest = 16_000_000
    /// Bytes of one subscription.
    package var subscriptionBytes = 64_000
    /// Elements of one list of a record.
    package var elementsPerList = 50_000
    /// New references with an action in one request.
    package var referencesPerRequest = 20_000
    /// Milliseconds of processor time of one unit of work that reads, and of one that writes.
    package var readMilliseconds = 10_000
    package var writeMilliseconds = 5000

    /// Seconds for which a web auth token is valid, and the same for sessions that stay signed in.
    package var webTokenSeconds = 1800
    package var webTokenKeptSeconds = 14 * 86_400
    /// Seconds after which a user must sign in again, even if active.
    package var webSessionSeconds = 90 * 86_400
    /// Seconds by which the date of a signed request may differ from the server's clock.
    package var signatureDateSeconds = 600
    /// Seconds for which a sign-in page is valid.
    package var signInSeconds = 900
    /// Failed passwords in a row after which an account must wait.
    package var passwordFailures = 5
    package var participantsPerShare = 100
    /// Idle timeout of a connection, in seconds: no request is in flight, or a body stopped arriving.
    package var idleSeconds = 75
    /// Open connections of one network, that of this machine and of trusted gateways apart; 0 means no limit.
    package var connectionsPerNetwork = 2000
    /// Held push streams of one network without a signed-in user; 0 means no limit.
    package var anonymousStreamsPerNetwork = 200
    /// Minimum bytes per second of a request's body after the grace period; 0 means no minimum. Responses have
    /// the same rate.
    package var bodyBytesPerSecond = 500
    package var bodyGraceSeconds = 30
    /// Seconds that a stopping server gives to requests in flight.
    package var stopSeconds = 30

    package init() {}

    /// The limits that Apple documents for web services. The others are unchanged: no document states them.
    ///
    /// Source: *CloudKit Web Services Reference*, "Data Size Limits" and "Uploading Assets": files that are sent through web
    /// services have 15 MB, although the table of limits says 50.
    package static var documentedWebServices: Limits {
        var limits = Limits()
        limits.operationsPerRequest = 200
        limits.recordsPerResponse = 200
        limits.recordsPerLargePage = 200
        limits.assetTokensPerRequest = 200
        limits.recordBytes = 1_000_000
        limits.assetBytes = 15_000_000
        limits.assetUploadSeconds = 900
        limits.deletingReferencesPerRecord = 750
        return limits
    }
}
