// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import MirroringCore
import SQLiteStore

/// The shares of zones.
struct ZoneShares: FileTransactions {
    let file: MirrorFile

    /// Stores the share of a page. Rejections are cleared, since it may grant write access.
    func keep(in page: ImportPage, _ row: ZoneTable.Row, _ writer: StoreWriter) throws {
        let number = row.zone.number
        if let share = page.records.last(where: { $0.recordName == ShareDetails.zoneShareName }) {
            try keep(share, of: row.zone, writer)
            try ZoneTable.set(.shareGeneration, .int(row.generation), of: number, writer)
        } else if page.deletions.contains(ShareDetails.zoneShareName)
            || page.generation != nil && !page.moreComing && row.shareGeneration < row.generation
        {
            try ZoneTable.set(.share, .null, of: number, writer)
        }
    }

    func keep(_ share: Record, of zone: MirrorZone, _ writer: StoreWriter) throws {
        try ZoneTable.set(.share, .blob(Data(share.encoded())), of: zone.number, writer)
        try self.writer(writer, zone: zone.number).clearRejections()
    }

    /// The shares of a store with their zones.
    func all() throws -> [(share: Record, zone: MirrorZone)] {
        try store.read { reader in
            guard try ZoneTable.exists(reader) else { return [] }
            return try ZoneTable.all(reader).compactMap { row in try row.sharing.map { ($0, row.zone) } }
        }
    }

    func keep(_ share: Record, of id: ZoneID) throws {
        try store.write { writer in
            guard let row = try ZoneTable.row(normal(id), writer) else { return }
            try keep(share, of: row.zone, writer)
        }
    }
}

extension ZoneTable.Row {
    /// The share of the whole zone.
    var sharing: Record? {
        get throws { try share.map { try Record(json: [UInt8]($0)) } }
    }
}
