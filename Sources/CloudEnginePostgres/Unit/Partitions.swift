// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Crypto
import Foundation

/// The key of a partition: 64 bits of a hash of its name, so that no sequence and no global index gives it.
///
/// The row has the name, too. If another partition has the hash already, the next candidate is the hash with a number.
struct PartitionKey {
    let part: Int64
    private let attempt: Int

    init(_ partition: Partition) { self.init(partition, attempt: 0) }

    private init(_ partition: Partition, attempt: Int) {
        self.attempt = attempt
        let name = [partition.containerIdentifier, partition.environment.rawValue, partition.scope.rawValue, partition.owner, "\(attempt)"]
        part = Self.number(of: name.joined(separator: "\u{0}"))
    }

    /// 64 bits of the SHA-256 of a text.
    static func number(of text: String) -> Int64 {
        let hash = SHA256.hash(data: Data(text.utf8))
        return Int64(bitPattern: hash.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
    }

    func next(_ partition: Partition) -> PartitionKey { PartitionKey(partition, attempt: attempt + 1) }

    func values(_ partition: Partition) -> PostgresValues {
        [part, partition.containerIdentifier, partition.environment.rawValue, partition.scope.rawValue, partition.owner]
    }
}

/// The table of partitions: names, counters and usage. The row's lock makes the units of a partition serial, so that the order of
/// change numbers is that of commits.
enum PartitionRows {
    static let tables = [
        """
        CREATE TABLE IF NOT EXISTS partitions (
            part bigint NOT NULL PRIMARY KEY, container text COLLATE "C" NOT NULL, environment text COLLATE "C" NOT NULL,
            scope text COLLATE "C" NOT NULL, owner text COLLATE "C" NOT NULL, epoch bigint NOT NULL DEFAULT 1,
            counter bigint NOT NULL DEFAULT 0, floor bigint NOT NULL DEFAULT 0, record_bytes bigint NOT NULL DEFAULT 0,
            asset_bytes bigint NOT NULL DEFAULT 0, answer_bytes bigint NOT NULL DEFAULT 0, due bigint)
        """,
        // Format 7. The next housekeeping of each partition counts those that there are.
        "ALTER TABLE partitions ADD COLUMN IF NOT EXISTS tombstones bigint NOT NULL DEFAULT 0",
        // Format 8. 0 until the sizes of records that there are were counted: partitions of former formats, or of their processes.
        "ALTER TABLE partitions ADD COLUMN IF NOT EXISTS sized bigint NOT NULL DEFAULT 0",
        """
        CREATE TABLE IF NOT EXISTS restores (
            part bigint NOT NULL PRIMARY KEY, epoch bigint NOT NULL, counter bigint NOT NULL, next_epoch bigint NOT NULL)
        """,
    ]

    /// The key in `meta` of the epoch of partitions that are made from now on.
    static let firstEpochKey = "epoch.first"

    private static let columns =
        "container, environment, scope, owner, epoch, counter, floor, record_bytes, asset_bytes, answer_bytes, tombstones"
    static let make = """
        INSERT INTO partitions (part, container, environment, scope, owner, epoch, sized) VALUES ($1, $2, $3, $4, $5, $6, 1)
        ON CONFLICT (part) DO NOTHING
        """
    static let read = "SELECT \(columns) FROM partitions WHERE part = $1"
    static let lock = read + " FOR UPDATE"
    static let write = """
        UPDATE partitions SET counter = $2, record_bytes = $3, asset_bytes = $4, answer_bytes = $5, tombstones = $6, due = least(due, $7)
        WHERE part = $1
        """
    static let restart = "UPDATE partitions SET epoch = epoch + 1, floor = 0 WHERE part = $1"
    static let raiseFloor = "UPDATE partitions SET floor = greatest(floor, $2) WHERE part = $1"

    // MARK: Sizes of records

    static let unsized = """
        SELECT container, environment, scope, owner, part FROM partitions WHERE part > $1 AND sized = 0 ORDER BY part LIMIT $2
        """
    static let setSized = "UPDATE partitions SET sized = 1 WHERE part = $1 AND sized = 0 RETURNING 1"
    static let endSizeCount = "DELETE FROM meta WHERE key = $1 AND NOT EXISTS (SELECT 1 FROM partitions WHERE sized = 0)"

    // MARK: Counters

    static let counters = """
        SELECT container, environment, scope, owner, counter FROM partitions WHERE container = $1 AND environment = $2 ORDER BY part
        """

    // MARK: Restore

    /// The key of the last of the next `$2` partitions after `$1`, and their number.
    static let page = "SELECT max(part), count(*) FROM (SELECT part FROM partitions WHERE part > $1 ORDER BY part LIMIT $2) AS page"
    static let storeRestorePoint = """
        INSERT INTO restores (part, epoch, counter, next_epoch)
        SELECT part, epoch, counter, greatest(epoch + 1, $3) FROM partitions WHERE part > $1 AND part <= $2
        ON CONFLICT (part) DO UPDATE SET epoch = excluded.epoch, counter = excluded.counter, next_epoch = excluded.next_epoch
        """
    static let raiseEpoch = "UPDATE partitions SET epoch = greatest(epoch + 1, $3) WHERE part > $1 AND part <= $2"

    static func values(_ state: PartitionState, due: Int64?, part: Int64) -> PostgresValues {
        [part, state.counter, state.usage.records, state.usage.assets, state.answerBytes, state.tombstones, due ?? Int64.max]
    }

    static func isRow(_ row: PostgresRow, of partition: Partition) -> Bool {
        row[0] == partition.containerIdentifier && row[1] == partition.environment.rawValue && row[2] == partition.scope.rawValue
            && row[3] == partition.owner
    }

    static func state(_ row: PostgresRow) -> PartitionState {
        var state = PartitionState(epoch: row[4], counter: row[5], floor: row[6])
        state.usage = StoredBytes(records: row[7], assets: row[8])
        state.answerBytes = row[9]
        state.tombstones = row[10]
        return state
    }

    /// - Parameter row: Begins with container, environment, scope and owner.
    static func partition(_ row: PostgresRow) throws -> Partition {
        guard let environment = CloudEnvironment(rawValue: row[1]), let scope = DatabaseScope(rawValue: row[2]) else {
            throw StorageFailure(.corrupt, "a partition is of a database that never was")
        }
        return Partition(containerIdentifier: row[0], environment: environment, scope: scope, owner: row[3])
    }
}

extension PostgresUnit {
    func restorePoint() throws -> RestorePoint? {
        try rows("SELECT epoch, counter, next_epoch FROM restores WHERE part = $1", [part], from: .partitions, isRepeated: true).first.map {
            RestorePoint(epoch: $0[0], counter: $0[1], nextEpoch: $0[2])
        }
    }

    /// Deletes the partition's contents. Tokens of its changes are of an earlier epoch from now on.
    func erase() throws {
        for table in PostgresFormat.partitionedTables {
            try run("DELETE FROM \(table) WHERE part = $1", [part], changing: .partitions)
        }
        forgetRows()
        try run(PartitionRows.restart, [part], changing: .partitions)
        change {
            $0.epoch += 1
            $0.floor = 0
            $0.usage = StoredBytes()
            $0.answerBytes = 0
            $0.tombstones = 0
        }
    }

    /// Lets tokens of changes before a number expire.
    func raiseFloor(to floor: Int64) throws {
        try run(PartitionRows.raiseFloor, [part, floor], changing: .partitions)
        change { $0.floor = max($0.floor, floor) }
    }

    /// The row is locked, so the number is known before the server stores it.
    func raiseCounter(by count: Int, adding usage: StoredBytes) throws -> Int64 {
        change {
            $0.counter += Int64(count)
            $0.usage += usage
        }
        return loaded.counter
    }

    func addUsage(_ difference: StoredBytes) throws {
        change { $0.usage += difference }
    }

    func addTombstones(_ difference: Int64) {
        change { $0.tombstones += difference }
    }

    /// Counts the tombstones anew: those of zones that were removed, or of a process of format 6, are not subtracted or added.
    func countTombstones() throws {
        let count: Int64 =
            try rows("SELECT count(*) FROM records WHERE part = $1 AND deleted", [part], from: .records).first.map { $0[0] } ?? 0
        if loaded.tombstones != count { change { $0.tombstones = count } }
    }
}
