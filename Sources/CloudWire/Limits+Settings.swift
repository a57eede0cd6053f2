// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension Limits {
    /// A limit that an operator can set, by name.
    package struct Setting: Sendable {
        package let name: String
        package let key: any WritableKeyPath<Limits, Int> & Sendable
        /// The unit and the scope of the number, for the list of limits.
        package let what: String
        package let least: Int
        package let most: Int

        init(_ name: String, _ key: any WritableKeyPath<Limits, Int> & Sendable, _ what: String, least: Int = 1, most: Int) {
            self.name = name
            self.key = key
            self.what = what
            self.least = least
            self.most = most
        }
    }

    /// In alphabetical order. All other limits follow from formats, or clients rely on them.
    package static let settings: [Setting] = [
        Setting("anonymousBodyBytes", \.anonymousBodyBytes, "bytes of one request of an anonymous client", most: messageBytes),
        Setting(
            "anonymousStreamsPerNetwork", \.anonymousStreamsPerNetwork,
            "push streams of one network without a signed-in user; 0 for no limit, which this machine has for containers in use", least: 0,
            most: 1_000_000),
        Setting("answerBytes", \.answerBytes, "bytes of stored responses to retried requests in one database", most: 1 << 30),
        Setting("assetBytes", \.assetBytesNumber, "bytes of one file", most: 1 << 40),
        Setting("assetDownloadSeconds", \.assetDownloadSeconds, "seconds for which the download address of a file is valid", most: 604_800),
        Setting(
            "assetResumeSeconds", \.assetResumeSeconds, "seconds for which a begun upload can be resumed after its address has expired",
            least: 0, most: 86_400),
        Setting("assetTokensPerRequest", \.assetTokensPerRequest, "uploads that one request asks for", most: 2000),
        Setting("assetUploadSeconds", \.assetUploadSeconds, "seconds for which the address of an upload is valid", most: 86_400),
        Setting("auditDays", \.auditDays, "days for which events of the audit log are stored", most: 36_500),
        Setting(
            "bodyBytesPerSecond", \.bodyBytesPerSecond,
            "bytes per second at which a request must arrive after its grace period; 0 for no minimum", least: 0, most: 1_000_000),
        Setting("bodyGraceSeconds", \.bodyGraceSeconds, "seconds for which a request may arrive at any speed", least: 0, most: 3600),
        Setting(
            "concurrentRequests", \.concurrentRequests, "requests that run concurrently, half of them of one user; 0 for no limit",
            least: 0, most: 10_000),
        Setting(
            "connectionsPerNetwork", \.connectionsPerNetwork,
            "open connections of one network; 0 for no limit, which this machine and trusted gateways have", least: 0, most: 1_000_000),
        Setting("deletingReferencesPerRecord", \.deletingReferencesPerRecord, "DELETE_SELF references to one record", most: 10_000),
        Setting("elementsPerList", \.elementsPerList, "elements of one list of a record", most: 1_000_000),
        Setting("fieldsPerRecord", \.fieldsPerRecord, "fields of one record", most: 4096),
        Setting("filtersPerQuery", \.filtersPerQuery, "filters of one query", most: 1000),
        Setting("historyDays", \.historyDays, "days for which earlier versions of records are stored; 0 stores none", least: 0, most: 3650),
        Setting("idleSeconds", \.idleSeconds, "seconds after which a connection without a request is closed", most: 86_400),
        Setting("openUploads", \.openUploads, "uploads of a private database with a valid address and no complete file", most: 1_000_000),
        Setting("operationsPerRequest", \.operationsPerRequest, "operations in one request", most: 2000),
        Setting("publicBytes", \.publicBytes, "bytes of records and files in a public database; 0 for no limit", least: 0, most: 1 << 50),
        Setting("queryBytesPerPage", \.queryBytesPerPage, "bytes scanned for one page of a query", least: 1_000_000, most: 1 << 30),
        Setting(
            "queueMilliseconds", \.queueMilliseconds, "milliseconds that a request waits for others; a twentieth in an overload",
            least: 20, most: 60_000
        ),
        Setting(
            "readMilliseconds", \.readMilliseconds, "milliseconds of processor time of a unit of work that reads", least: 100, most: 600_000
        ),
        Setting("recordBytes", \.recordBytes, "bytes of one record without its files", most: 16_000_000),
        Setting(
            "recordsIndexedPerQuery", \.recordsIndexedPerQuery, "records indexed before a query that needs a new index is answered",
            most: 100_000_000),
        Setting(
            "recordsPerLargePage", \.recordsPerLargePage, "records in one change page, for clients that request large pages",
            most: 10_000),
        Setting("recordsPerResponse", \.recordsPerResponse, "records in one response", most: 2000),
        Setting("recordsScannedPerPage", \.recordsScannedPerPage, "records scanned for one page of a query", most: 1_000_000),
        Setting("recordsTakenAlong", \.recordsTakenAlong, "records that the deletion of one record deletes by cascade", most: 100_000),
        Setting("referencesPerRequest", \.referencesPerRequest, "new references with an action in one request", most: 1_000_000),
        Setting("requestBodyBytes", \.requestBodyBytes, "bytes of one request with records", most: messageBytes),
        Setting("requestMemoryBytes", \.requestMemoryBytes, "bytes of memory for all concurrent requests", least: 1_000_000, most: 1 << 40),
        Setting("requestRecordBytes", \.requestRecordBytes, "bytes of the records in one request", most: 16_000_000),
        Setting("requestsPerMinute", \.requestsPerMinute, "requests of one user per minute; 0 for no limit", least: 0, most: 10_000_000),
        Setting("responseRecordBytes", \.responseRecordBytes, "bytes of records after which a change page ends", most: 16_000_000),
        Setting("shortBodyBytes", \.shortBodyBytes, "bytes of one request without records", most: messageBytes),
        Setting(
            "snapshotBytes", \.snapshotBytes, "bytes of all snapshots of zones on the disk of a server process; 0 makes none", least: 0,
            most: 1 << 50),
        Setting("snapshotRecordsMin", \.snapshotRecordsMin, "records of the smallest zone that gets a snapshot", most: 100_000_000),
        Setting("snapshotSeconds", \.snapshotSeconds, "seconds after which a snapshot of a zone is removed", least: 60, most: 31 * 86_400),
        Setting("sortsPerQuery", \.sortsPerQuery, "sort keys of one query", most: 32),
        Setting("stopSeconds", \.stopSeconds, "seconds for requests in flight to finish when the server stops", most: 86_400),
        Setting("subscriptionBytes", \.subscriptionBytes, "bytes of one subscription", most: 16_000_000),
        Setting(
            "subscriptionWorkPerRequest", \.subscriptionWorkPerRequest, "bytes that query subscriptions scan after one request",
            most: 1 << 30),
        Setting("subscriptionsPerDatabase", \.subscriptionsPerDatabase, "subscriptions of a user in one database", most: 10_000),
        Setting(
            "tombstonesPerDatabase", \.tombstonesPerDatabase,
            "tombstones of a database with a quota, which expire after 90 days: with as many, it rejects new records; 0 for no limit",
            least: 0,
            most: 1 << 40),
        Setting(
            "userBytes", \.userBytes, "bytes of records and files in a user's private database; 0 for no limit", least: 0,
            most: 1 << 50),
        Setting("valuesPerFilter", \.valuesPerFilter, "values in the list of one filter", most: 10_000),
        Setting("valuesPerRequest", \.valuesPerRequest, "members and elements in one request", most: 10_000_000),
        Setting(
            "writeMilliseconds", \.writeMilliseconds, "milliseconds of processor time of a unit of work that writes", least: 100,
            most: 600_000),
        Setting("zonesPerDatabase", \.zonesPerDatabase, "zones of one database", most: 100_000),
    ]

    private var assetBytesNumber: Int {
        get { Int(assetBytes) }
        set { assetBytes = Int64(newValue) }
    }

    /// - Returns: `nil` after success, else the reason why the limit cannot have the value.
    package mutating func set(_ name: String, to value: Int) -> String? {
        guard let setting = Self.settings.first(where: { $0.name == name }) else {
            return "The limit \(name) is unknown. Choose one of \(Self.settings.map(\.name).joined(separator: ", "))."
        }
        guard (setting.least...setting.most).contains(value) else {
            return "The limit \(name) is a number from \(setting.least) to \(setting.most)."
        }
        self[keyPath: setting.key] = value
        return nil
    }
}
