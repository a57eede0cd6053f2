// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension Limits {
    /// A limit that an operator may set, by name.
    package struct Setting: Sendable {
        package let name: String
        package let key: any WritableKeyPath<Limits, Int> & Sendable
        /// What the number counts.
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

    /// In alphabetical order. What is not here follows from formats or from what clients rely on.
    package static let settings: [Setting] = [
        Setting("anonymousBodyBytes", \.anonymousBodyBytes, "of one request of nobody who is signed in", most: messageBytes),
        Setting("assetBytes", \.assetBytesNumber, "bytes of one file", most: 1 << 40),
        Setting("assetDownloadSeconds", \.assetDownloadSeconds, "for which the address of a file works", most: 604_800),
        Setting("assetResumeSeconds", \.assetResumeSeconds, "for which an upload in parts goes on after its address would no longer begin one", least: 0, most: 86_400),
        Setting("assetTokensPerRequest", \.assetTokensPerRequest, "uploads that one request asks for", most: 2000),
        Setting("assetUploadSeconds", \.assetUploadSeconds, "for which the address of an upload works", most: 86_400),
        Setting("auditDays", \.auditDays, "days for which events of the audit log are stored", most: 36_500),
        Setting("bodyBytesPerSecond", \.bodyBytesPerSecond, "with which a request arrives at least after its grace; 0 for any pace", least: 0, most: 1_000_000),
        Setting("bodyGraceSeconds", \.bodyGraceSeconds, "for which a request may arrive at any pace", least: 0, most: 3600),
        Setting("deletingReferencesPerRecord", \.deletingReferencesPerRecord, "DELETE_SELF references to one record", most: 10_000),
        Setting("fieldsPerRecord", \.fieldsPerRecord, "fields of one record", most: 4096),
        Setting("filtersPerQuery", \.filtersPerQuery, "filters of one query", most: 1000),
        Setting("historyDays", \.historyDays, "for which it is kept what records were; 0 keeps nothing", least: 0, most: 3650),
        Setting("idleSeconds", \.idleSeconds, "after which a connection without a request is closed", most: 86_400),
        Setting("operationsPerRequest", \.operationsPerRequest, "operations in one request", most: 2000),
        Setting("publicBytes", \.publicBytes, "of records and files in a public database; 0 for any number", least: 0, most: 1 << 50),
        Setting("recordBytes", \.recordBytes, "of one record without its files", most: 16_000_000),
        Setting("recordsPerLargePage", \.recordsPerLargePage, "records in one page of changes, for clients that ask for large pages", most: 10_000),
        Setting("recordsPerResponse", \.recordsPerResponse, "records in one answer", most: 2000),
        Setting("recordsScannedPerPage", \.recordsScannedPerPage, "records looked at for one page of a query", most: 1_000_000),
        Setting("recordsTakenAlong", \.recordsTakenAlong, "records that go with one that is deleted", most: 100_000),
        Setting("requestBodyBytes", \.requestBodyBytes, "of one request", most: messageBytes),
        Setting("requestMemoryBytes", \.requestMemoryBytes, "of memory that all requests take together", least: 1_000_000, most: 1 << 40),
        Setting("requestRecordBytes", \.requestRecordBytes, "of the records in one request", most: 16_000_000),
        Setting("requestsPerMinute", \.requestsPerMinute, "requests of one user in a minute; 0 for any number", least: 0, most: 10_000_000),
        Setting("responseRecordBytes", \.responseRecordBytes, "after which a page of changes ends", most: 16_000_000),
        Setting("shortBodyBytes", \.shortBodyBytes, "of one request that brings no records", most: messageBytes),
        Setting("sortsPerQuery", \.sortsPerQuery, "orders of one query", most: 32),
        Setting("stopSeconds", \.stopSeconds, "that requests under way have once the server is told to stop", most: 86_400),
        Setting("subscriptionsPerDatabase", \.subscriptionsPerDatabase, "subscriptions of a user in one database", most: 10_000),
        Setting("userBytes", \.userBytes, "of records and files in a user's private database; 0 for any number", least: 0, most: 1 << 50),
        Setting("valuesPerFilter", \.valuesPerFilter, "values in the list of one filter", most: 10_000),
        Setting("valuesPerRequest", \.valuesPerRequest, "members and elements in one request", most: 10_000_000),
        Setting("zonesPerDatabase", \.zonesPerDatabase, "zones of one database", most: 100_000),
    ]

    private var assetBytesNumber: Int {
        get { Int(assetBytes) }
        set { assetBytes = Int64(newValue) }
    }

    /// - Returns: Nil, or a sentence that says why the limit cannot be set so.
    package mutating func set(_ name: String, to value: Int) -> String? {
        guard let setting = Self.settings.first(where: { $0.name == name }) else {
            return "There is no limit named \(name); there are \(Self.settings.map(\.name).joined(separator: ", "))."
        }
        guard (setting.least...setting.most).contains(value) else {
            return "The limit \(name) is a number from \(setting.least) to \(setting.most)."
        }
        self[keyPath: setting.key] = value
        return nil
    }
}
