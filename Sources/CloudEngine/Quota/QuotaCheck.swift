// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Rejects the operations of one request that exceed the quota. An operation that makes a database smaller, or leaves
/// it as it is, is never refused. The database's counts are written by `RecordBatch`, with the records.
struct QuotaCheck {
    private let left: Int64?
    private let hasMostTombstones: Bool
    private let zone: Int64
    private let view: any PartitionReader
    /// Bytes of the operations so far.
    private var taken: Int64 = 0
    /// Fields that refer to assets, those of the operations so far included.
    private var links: [String: Int] = [:]

    init(_ quotas: Quotas, zone: StoredZone, _ view: any PartitionReader, _ call: Call) throws {
        self.zone = zone.key
        self.view = view
        guard !call.caller.isOperator, let quota = try quotas.quota(of: call.partition, in: view) else {
            (left, hasMostTombstones) = (nil, false)
            return
        }
        // Read once: each read of the state is a statement.
        let state = try view.state()
        left = state.usage.left(of: quota)
        hasMostTombstones = quotas.hasMostTombstones(state)
    }

    /// Rejects a record with a new name: its deletion adds a tombstone.
    ///
    /// - Throws: `WireError` with `.quotaExceeded`.
    func checkNewName() throws(WireError) {
        guard !hasMostTombstones else { throw Quotas.tooManyTombstones }
    }

    /// Takes one record's change into account.
    ///
    /// - Throws: `WireError` with `.quotaExceeded`, and then forgets the change.
    mutating func take(_ old: Record?, _ new: Record?) throws {
        guard let left else { return }
        var difference = Int64((new.map(RecordSize.bytes) ?? 0) - (old.map(RecordSize.bytes) ?? 0))
        var changed = links
        for (asset, count) in (new?.assets ?? []).map({ ($0, 1) }) + (old?.assets ?? []).map({ ($0, -1) }) {
            let checksum = asset.fileChecksum
            let before = try changed[checksum] ?? view.links(toAssets: [checksum], in: zone)[checksum] ?? 0
            changed[checksum] = before + count
            if before <= 0, before + count > 0 { difference += asset.size }
            if before > 0, before + count <= 0 { difference -= asset.size }
        }
        guard difference <= 0 || taken + difference <= left else { throw Quotas.exceeded }
        taken += difference
        links = changed
    }
}
