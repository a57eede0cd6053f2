// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import MirroringCore
import SQLiteStore

/// Reads the sync metadata of one zone, inside one transaction of the store. Each table's file has the queries of that table.
struct SyncMetadataReader {
    let reader: StoreReader
    let mapping: RecordMapping
    /// The number of the store in row keys.
    let store: UInt16
    /// The zone in which record names count.
    let zone: Int64

    func entityName(_ key: RowKey) -> String { mapping.syncName(ofEntity: key.entityIndex) }

    /// Returns `true` if a table has rows of the zone.
    func exists(_ table: String) throws -> Bool {
        var exists = false
        try reader.query("SELECT 1 FROM \(table) WHERE zone = ? LIMIT 1", [.int(zone)]) { _ in exists = true }
        return exists
    }

    func names(_ sql: String, _ arguments: [SQLValue]) throws -> [String] {
        var names: [String] = []
        try reader.query(sql, arguments) { if let name = $0.text(0) { names.append(name) } }
        return names
    }

    // MARK: Records and links

    /// Returns how many records and links of all zones are to be sent, without those that the server rejected permanently.
    ///
    /// - Parameter first: The first zone that is counted.
    func pendingCount(from first: Int64) throws -> Int {
        var count = 0
        for table in ["TARN_RECORD", "TARN_LINK"] {
            try reader.query("SELECT COUNT(*) FROM \(table) WHERE \(MirrorStage.isPendingSQL) AND zone >= ?", [.int(first)]) {
                count += Int($0.int(0))
            }
        }
        return count
    }

    /// Returns `true` if ``pendingCount(from:)`` is not zero, without counting.
    func hasPending(from first: Int64) throws -> Bool {
        let condition = "\(MirrorStage.isPendingSQL) AND zone >= ?1"
        var exists = false
        try reader.query(
            "SELECT 1 FROM TARN_RECORD WHERE \(condition) UNION ALL SELECT 1 FROM TARN_LINK WHERE \(condition) LIMIT 1", [.int(first)]
        ) { _ in exists = true }
        return exists
    }

    /// Returns the reason and the number of permanent rejections in all zones; nil without rejections.
    func refusal() throws -> String? {
        var count = 0
        var reason: String?
        for table in ["TARN_LINK", "TARN_RECORD"] {
            try reader.query("SELECT COUNT(*), MIN(failure) FROM \(table) WHERE failure IS NOT NULL") { row in
                count += Int(row.int(0))
                reason = row.text(1) ?? reason
            }
        }
        return reason.map { "the server refused \(count == 1 ? "an object" : "\(count) objects"): \($0)" }
    }

    /// Returns how many records and links of all zones the server rejected permanently.
    func rejectedCount() throws -> Int {
        var count = 0
        for table in ["TARN_RECORD", "TARN_LINK"] {
            try reader.query("SELECT COUNT(*) FROM \(table) WHERE failure IS NOT NULL") { count += Int($0.int(0)) }
        }
        return count
    }

    /// Returns the zone's records and links with changes that the server rejected permanently.
    func rejected() throws -> (records: [RecordState], links: [LinkState]) {
        // The index over failures, not the whole zone.
        let condition = "+zone = ? AND failure IS NOT NULL ORDER BY failure"
        return (try records(condition, [.int(zone)]), try links(condition, [.int(zone)]))
    }

    /// Returns the names of records that the server had before a full fetch and that the fetch did not return.
    func unseenNames(before generation: Int64) throws -> [String] {
        let condition = "zone = ?2 AND (tag IS NOT NULL OR stage = \(MirrorStage.uploaded.rawValue)) AND generation < ?1"
        let withheld = mapping.keepsIncomplete ? " UNION ALL SELECT name FROM TARN_INCOMPLETE WHERE zone = ?2 AND generation < ?1" : ""
        return try names(
            "SELECT name FROM TARN_RECORD WHERE \(condition) UNION ALL SELECT name FROM TARN_LINK WHERE \(condition)\(withheld)",
            [.int(generation), .int(zone)]
        ).sorted()
    }
}

/// Digests of assets as text: a line with field and digest for each.
enum Digests {
    static func encode(_ digests: [String: ContentDigest]) -> String? {
        if digests.isEmpty { return nil }
        return digests.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.text)" }.joined(separator: "\n")
    }

    static func decode(_ text: String?) -> [String: ContentDigest] {
        var digests: [String: ContentDigest] = [:]
        for line in text?.split(separator: "\n") ?? [] {
            let parts = line.split(separator: " ")
            if parts.count == 2 { digests[String(parts[0])] = ContentDigest(text: String(parts[1])) }
        }
        return digests
    }
}
