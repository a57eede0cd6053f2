// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension Limits {
    /// A limit that an operator may set, by name.
    package struct Setting: Sendable {
        package let name: String
        package let key: any WritableKeyPath<Limits, Int> & Sendable
        package let least: Int
        package let most: Int

        init(_ name: String, _ key: any WritableKeyPath<Limits, Int> & Sendable, least: Int = 1, most: Int) {
            self.name = name
            self.key = key
            self.least = least
            self.most = most
        }
    }

    /// In alphabetical order. What is not here follows from formats or from what clients rely on.
    package static let settings: [Setting] = [
        Setting("assetBytes", \.assetBytesNumber, most: 1 << 40),
        Setting("assetDownloadSeconds", \.assetDownloadSeconds, most: 604_800),
        Setting("assetResumeSeconds", \.assetResumeSeconds, least: 0, most: 86_400),
        Setting("assetTokensPerRequest", \.assetTokensPerRequest, most: 2000),
        Setting("assetUploadSeconds", \.assetUploadSeconds, most: 86_400),
        Setting("deletingReferencesPerRecord", \.deletingReferencesPerRecord, most: 10_000),
        Setting("fieldsPerRecord", \.fieldsPerRecord, most: 4096),
        Setting("filtersPerQuery", \.filtersPerQuery, most: 1000),
        Setting("historyDays", \.historyDays, least: 0, most: 3650),
        Setting("operationsPerRequest", \.operationsPerRequest, most: 2000),
        Setting("publicBytes", \.publicBytes, least: 0, most: 1 << 50),
        Setting("recordBytes", \.recordBytes, most: 16_000_000),
        Setting("recordsPerResponse", \.recordsPerResponse, most: 2000),
        Setting("recordsScannedPerPage", \.recordsScannedPerPage, most: 1_000_000),
        Setting("recordsTakenAlong", \.recordsTakenAlong, most: 100_000),
        Setting("requestBodyBytes", \.requestBodyBytes, most: messageBytes),
        Setting("requestRecordBytes", \.requestRecordBytes, most: 16_000_000),
        Setting("requestsPerMinute", \.requestsPerMinute, least: 0, most: 10_000_000),
        Setting("responseRecordBytes", \.responseRecordBytes, most: 16_000_000),
        Setting("sortsPerQuery", \.sortsPerQuery, most: 32),
        Setting("subscriptionsPerDatabase", \.subscriptionsPerDatabase, most: 10_000),
        Setting("userBytes", \.userBytes, least: 0, most: 1 << 50),
        Setting("valuesPerFilter", \.valuesPerFilter, most: 10_000),
        Setting("zonesPerDatabase", \.zonesPerDatabase, most: 100_000),
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
