// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import MirroringCore
import SQLiteStore

extension MirrorFile {
    /// Returns a page with the withheld records that its own release, behind those.
    ///
    /// - Parameter withheld: The records that stay withheld.
    func joined(_ page: ImportPage, of zone: MirrorZone, withholding withheld: Set<String>, _ reader: StoreReader) throws -> ImportPage {
        guard mapping.keepsIncomplete, !page.records.isEmpty || mapping.hasUniqueness && !page.moreComing else { return page }
        let metadata = self.reader(reader, zone: zone.number)
        guard try metadata.hasIncomplete() else { return page }
        var names = page.records.map(\.recordName)
        if mapping.hasUniqueness {
            names += page.records.flatMap { mapping.mergedNames(of: $0).names.sorted() }
            if !page.moreComing { names += try metadata.mergedNamesLacked() }
        }
        let waiting = try metadata.incomplete(lacking: names) + (page.moreComing ? [] : released(from: zone.number, reader))
        var page = page
        var seen = withheld.union(page.deletions).union(page.records.map(\.recordName))
        page.records += waiting.filter { seen.insert($0.recordName).inserted }
        return page
    }

    /// Returns the withheld records of a zone with unique values that no row of another zone has any more, with records that require them.
    private func released(from zone: Int64, _ reader: StoreReader) throws -> [Record] {
        let metadata = self.reader(reader, zone: zone)
        let held = try metadata.heldBack().filter { try !isTaken($0, elsewhereThan: zone, reader) }
        return held.isEmpty ? [] : held + (try metadata.incomplete(lacking: held.map(\.recordName)))
    }

    /// Returns `true` if a row of another zone has unique values of a record.
    private func isTaken(_ record: Record, elsewhereThan zone: Int64, _ reader: StoreReader) throws -> Bool {
        let metadata = self.reader(reader, zone: zone)
        return try mapping.uniqueValues(of: record).contains { unique in
            try reader.keys(with: unique.constraint, values: unique.values).contains { try metadata.zone(of: $0) != zone }
        }
    }

    /// Returns the zones with withheld records that can be released, without those that will be fetched.
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
