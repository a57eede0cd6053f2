// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Sizes and counts that both sides keep to. They stand here once; an operator may lower them.
///
/// Source: *CloudKit Web Services Reference*, "Data Size Limits"; the framework's own numbers (400 items,
/// 2 MB a request) come from Apple's `CKModifyRecordsOperation` documentation.
package struct Limits: Hashable, Sendable {
    /// Bytes of a JSON text that are read at most, on either side. Not for operators: answers may be as large.
    package static let messageBytes = 64_000_000

    package var operationsPerRequest = 400
    package var recordsPerResponse = 200
    /// Records of one page of changes for who asks for ``Capability/largePages``.
    package var recordsPerLargePage = 1000
    package var assetTokensPerRequest = 200
    /// Bytes of one record without assets.
    package var recordBytes = 1_000_000
    /// Bytes of the records of one modify request, without assets.
    package var requestRecordBytes = 2_000_000
    /// Requests of one ``SaveGroup``.
    package var requestsPerSaveGroup = 128
    /// Bytes of the bodies of one ``SaveGroup``.
    package var saveGroupBytes = 128_000_000
    /// Groups of which parts wait for the last one, for each device, and for all devices of a user; the oldest are dropped.
    package var saveGroupsPerDevice = 4
    package var saveGroupsPerUser = 32
    /// Bytes of the bodies of all groups that wait, for each user of a database; the oldest groups are dropped.
    package var stagedBytesPerUser = 256_000_000
    /// Bytes of any JSON body; larger bodies are refused unread.
    package var requestBodyBytes = 16_000_000
    /// The same for requests that bring no records, and for those of nobody who is signed in.
    package var shortBodyBytes = 1_000_000
    package var anonymousBodyBytes = 256_000
    /// Members of objects and elements of lists in the body of one request.
    package var valuesPerRequest = 500_000
    /// Bytes of memory that all requests take together while they are read, decoded and answered.
    package var requestMemoryBytes = 256_000_000
    package var assetBytes: Int64 = 50_000_000
    /// Seconds during which an asset upload address works.
    package var assetUploadSeconds = 900
    /// Seconds for which an upload in parts goes on after its address would no longer begin one.
    package var assetResumeSeconds = 86_400
    /// Seconds during which a download address of an asset works.
    package var assetDownloadSeconds = 3600
    /// Bytes after which a page of changes ends, without assets.
    package var responseRecordBytes = 4_000_000
    package var zonesPerDatabase = 1000
    package var subscriptionsPerDatabase = 200
    package var fieldsPerNotification = 3
    package var recordNameCharacters = 255
    package var zoneNameCharacters = 255
    package var fieldsPerRecord = 256
    /// `DELETE_SELF` references to one record.
    package var deletingReferencesPerRecord = 750
    /// Records that go with one that is deleted, by their references and those to them.
    package var recordsTakenAlong = 10_000
    /// Requests a user may send in a minute, of which as many may come at once; 0 means without limit.
    package var requestsPerMinute = 0
    /// Bytes of records and assets that a user's private database may take in one container and environment, and that the
    /// public database may; 0 means without limit. The operator may set another number for a user.
    package var userBytes = 0
    package var publicBytes = 0
    /// Days for which it is kept what records were, so that a zone can be brought back to what it was; 0 keeps nothing.
    package var historyDays = 0
    /// Days for which events of the audit log are stored.
    package var auditDays = 400
    package var filtersPerQuery = 64
    package var sortsPerQuery = 8
    /// Values in the list of one filter.
    package var valuesPerFilter = 256
    /// Records looked at for one page of a query; a page that ends by it is short and has a continuation marker.
    package var recordsScannedPerPage = 10_000

    /// Seconds during which a web auth token works, and the same for who asked to stay signed in.
    package var webTokenSeconds = 1800
    package var webTokenKeptSeconds = 14 * 86_400
    /// Seconds after which somebody signs in again, however busy.
    package var webSessionSeconds = 90 * 86_400
    /// Seconds by which the date of a signed request may differ from the server's clock.
    package var signatureDateSeconds = 600
    /// Seconds during which a sign-in page works.
    package var signInSeconds = 900
    /// Wrong passwords in a row after which an account has to wait.
    package var passwordFailures = 5
    package var participantsPerShare = 100
    /// Seconds after which a connection is closed on which no request is under way, or one stopped to arrive.
    package var idleSeconds = 75
    /// Bytes in a second with which the body of a request arrives at least, once it took longer than the grace; 0 means at any pace.
    package var bodyBytesPerSecond = 500
    package var bodyGraceSeconds = 30
    /// Seconds that a server which is told to stop gives to requests that are under way.
    package var stopSeconds = 30

    package init() {}
}
