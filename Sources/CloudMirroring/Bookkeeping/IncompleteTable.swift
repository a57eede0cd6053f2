// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import MirroringCore
import SQLiteStore

/// Records that wait for something that their objects must have.
enum IncompleteTable {
    static let statements = [
        """
        CREATE TABLE IF NOT EXISTS TARN_INCOMPLETE (zone INTEGER NOT NULL, name TEXT NOT NULL, record BLOB NOT NULL, \
        generation INTEGER NOT NULL, PRIMARY KEY (zone, name)) WITHOUT ROWID
        """,
        """
        CREATE TABLE IF NOT EXISTS TARN_LACKING (zone INTEGER NOT NULL, target TEXT NOT NULL, name TEXT NOT NULL, \
        PRIMARY KEY (zone, target, name)) WITHOUT ROWID
        """,
        "CREATE INDEX IF NOT EXISTS TARN_LACKING_NAME ON TARN_LACKING (zone, name)",
    ]

    static let tables = ["TARN_INCOMPLETE", "TARN_LACKING"]
}

extension BookkeepingReader {
    /// Records that lack one of these, or one that lacks one of these, and so on.
    func incomplete(lacking names: [String]) throws -> [Record] {
        var found: [Record] = []
        var seen: Set<String> = []
        var open = names
        while let target = open.popLast() {
            try reader.query(
                """
                SELECT i.record FROM TARN_LACKING l JOIN TARN_INCOMPLETE i ON i.zone = l.zone AND i.name = l.name \
                WHERE l.zone = ? AND l.target = ? ORDER BY l.name
                """, [.int(zone), .text(target)]
            ) { row in
                guard let record = try row.blob(0).map({ try Record(json: [UInt8]($0)) }), seen.insert(record.recordName).inserted else { return }
                found.append(record)
                open.append(record.recordName)
            }
        }
        return found
    }

    /// Records that wait for values.
    func heldBack() throws -> [Record] {
        var found: [Record] = []
        try reader.query(
            """
            SELECT i.record FROM TARN_LACKING l JOIN TARN_INCOMPLETE i ON i.zone = l.zone AND i.name = l.name \
            WHERE l.zone = ? AND l.target = ? ORDER BY l.name
            """, [.int(zone), .text(IncompleteRecord.freeValues)]
        ) { row in
            if let record = try row.blob(0).map({ try Record(json: [UInt8]($0)) }) { found.append(record) }
        }
        return found
    }

    func hasIncomplete() throws -> Bool {
        var hasAny = false
        try reader.query("SELECT 1 FROM TARN_INCOMPLETE WHERE zone = ? LIMIT 1", [.int(zone)]) { _ in hasAny = true }
        return hasAny
    }

    /// In all zones.
    func incompleteCount() throws -> Int {
        var count = 0
        try reader.query("SELECT COUNT(*) FROM TARN_INCOMPLETE") { count = Int($0.int(0)) }
        return count
    }
}

extension BookkeepingWriter {
    func write(_ record: IncompleteRecord) throws {
        try writer.execute(
            "INSERT OR REPLACE INTO TARN_INCOMPLETE (zone, name, record, generation) VALUES (?, ?, ?, ?)",
            [.int(zone), .text(record.record.recordName), .blob(Data(record.record.encoded())), .int(record.generation)])
        for target in record.lacking {
            try writer.execute(
                "INSERT OR REPLACE INTO TARN_LACKING (zone, target, name) VALUES (?, ?, ?)",
                [.int(zone), .text(target), .text(record.record.recordName)])
        }
    }

    /// Of records that came, or went.
    func forgetIncomplete(_ names: [String]) throws {
        for name in names {
            var isThere = false
            try writer.query("SELECT 1 FROM TARN_INCOMPLETE WHERE zone = ? AND name = ?", [.int(zone), .text(name)]) { _ in isThere = true }
            guard isThere else { continue }
            try writer.execute("DELETE FROM TARN_INCOMPLETE WHERE zone = ? AND name = ?", [.int(zone), .text(name)])
            try writer.execute("DELETE FROM TARN_LACKING WHERE zone = ? AND name = ?", [.int(zone), .text(name)])
        }
    }
}

extension MirrorFile {
    /// A page with the withheld records that wait for those in it, behind its own.
    ///
    /// - Parameter withheld: Those that stay withheld.
    func joined(_ page: ImportPage, of zone: MirrorZone, withholding withheld: Set<String>, _ reader: StoreReader) throws -> ImportPage {
        guard mapping.keepsIncomplete, !page.records.isEmpty || mapping.hasUniqueness && !page.moreComing else { return page }
        let bookkeeping = self.reader(reader, zone: zone.number)
        guard try bookkeeping.hasIncomplete() else { return page }
        var names = page.records.map(\.recordName)
        if mapping.hasUniqueness {
            names += page.records.flatMap { mapping.mergedNames(of: $0).names.sorted() }
            if !page.moreComing { names += try bookkeeping.mergedNamesLacked() }
        }
        let waiting = try bookkeeping.incomplete(lacking: names) + (page.moreComing ? [] : released(from: zone.number, reader))
        var page = page
        var seen = withheld.union(page.deletions).union(page.records.map(\.recordName))
        page.records += waiting.filter { seen.insert($0.recordName).inserted }
        return page
    }

    /// Records of a zone whose values nothing has any more that is in another one, with what waits for them.
    private func released(from zone: Int64, _ reader: StoreReader) throws -> [Record] {
        let bookkeeping = self.reader(reader, zone: zone)
        let held = try bookkeeping.heldBack().filter { try !isTaken($0, elsewhereThan: zone, reader) }
        return held.isEmpty ? [] : held + (try bookkeeping.incomplete(lacking: held.map(\.recordName)))
    }

    /// Whether a row of another zone has values of a record that must be unique.
    private func isTaken(_ record: Record, elsewhereThan zone: Int64, _ reader: StoreReader) throws -> Bool {
        let bookkeeping = self.reader(reader, zone: zone)
        return try mapping.uniqueValues(of: record).contains { unique in
            try reader.keys(with: unique.constraint, values: unique.values).contains { try bookkeeping.zone(of: $0) != zone }
        }
    }

    /// Zones in which something waited for values that are free by now, and that are not going to be read anyway.
    func zonesToRelease() throws -> [ZoneTable.Row] {
        try store.read { reader in
            try ZoneTable.all(reader).filter { row in
                guard row.token != nil, !row.isFullFetch, row.zone.isHome || !row.needsFetch else { return false }
                return try !released(from: row.zone.number, reader).isEmpty
            }
        }
    }

    func incompleteCount() throws -> Int {
        guard mapping.keepsIncomplete else { return 0 }
        return try store.read { try reader($0).incompleteCount() }
    }
}
