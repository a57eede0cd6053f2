// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudStorageSupport
import CloudWire

/// Completes the usage of databases that servers of formats before 7 wrote: their sizes of records lack some bytes.
///
/// Servers since then add the difference between the sizes of a record and of the one that it replaces, and subtract the size of a deleted
/// one. Invariant: their saves do not change how many bytes the usage of a zone lacks. So a snapshot measures these bytes without a lock, and
/// a later unit adds them, although the zone may have changed in between. The unit marks the partition, so that they are added exactly once.
///
/// Saves by servers before format 7 change the difference. Such servers may run until the format has been set for a day, as with former
/// indexes, so the count begins then.
extension PostgresServerStore {
    private static let partitionsAtOnce = 200

    func countRecordSizes() async throws {
        guard try await reading({ try PostgresFormat.hasSizesToCount($0) }) else { return }
        var last = Int64.min
        while true {
            let after = last
            let page = try await reading { connection in
                try connection.query(PartitionRows.unsized, [after, Self.partitionsAtOnce]).rows.map {
                    (partition: try PartitionRows.partition($0), part: $0[4] as Int64)
                }
            }
            for (partition, _) in page { try await countRecordSizes(of: partition) }
            guard let end = page.last, page.count == Self.partitionsAtOnce else { break }
            last = end.part
        }
        try await writing { connection in
            try connection.send(PartitionRows.endSizeCount, [ServerValue.sizesToCount])
        }
    }

    /// An interrupted count of a partition leaves nothing, and the next housekeeping repeats it.
    private func countRecordSizes(of partition: Partition) async throws {
        let (zones, epoch) = try await read(partition, .maintenance) { reader in
            (try reader.zones().map(\.key), try reader.state().epoch)
        }
        var lacking: [Int64: Int64] = [:]
        for zone in zones {
            // A transaction for each zone: a long one keeps deleted rows of all tables from being removed.
            lacking[zone] = try await readUnit(partition) { try $0.lackingRecordBytes(inZone: zone) }
        }
        let bytes = lacking
        _ = try await maintain(partition) { try $0.addLackingRecordBytes(bytes, ofEpoch: epoch) }
    }
}

extension PostgresUnit {
    /// Bytes of the records of a zone that its usage does not have; 0 for a deleted zone.
    fileprivate func lackingRecordBytes(inZone key: Int64) throws -> Int64 {
        let zone = try rows(ZoneRows.columns + " WHERE part = $1 AND zone = $2 AND NOT deleted", [part, key], from: .zones).first
        guard let zone else { return 0 }
        var bytes: Int64 = 0
        try recordTexts(ChangeSlice(after: 0), in: key, includingDeleted: false) { text, _ in
            let record = try Self.decode(Record.self, Array(text))
            bytes += Int64(RecordSize.bytes(of: record))
            return true
        }
        return bytes - ZoneRows.zone(zone).usage.records
    }

    /// Adds lacking bytes, by zone, once.
    ///
    /// - Parameter epoch: That of the count. In another one, the zones may be others, and the next housekeeping repeats the count.
    fileprivate func addLackingRecordBytes(_ lacking: [Int64: Int64], ofEpoch epoch: Int64) throws {
        guard loaded.epoch == epoch, try !written(PartitionRows.setSized, [part], changing: .partitions).isEmpty else { return }
        var sum: Int64 = 0
        for (zone, bytes) in lacking where bytes != 0 {
            // The deletion of a zone has subtracted what its usage had.
            let changed = try written(ZoneRows.addRecordBytes + " AND NOT deleted RETURNING 1", [part, zone, bytes], changing: .zones)
            if !changed.isEmpty { sum += bytes }
        }
        if sum != 0 { change { $0.usage.records += sum } }
    }
}
