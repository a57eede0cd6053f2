// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
import Foundation

/// A database's part in a move: a value in `meta`.
///
/// ```
/// source        –  →  capturing  →  away       every write fails; the server continues at the destination
/// destination   –  →  filling    →  ready  →  –
/// ```
package struct MoveState: Codable, Hashable, Sendable {
    package enum Phase: String, Codable, Hashable, Sendable {
        /// The source: a table lists each changed row.
        case capturing
        /// The source, once the destination has everything. Nothing can write to it.
        case away
        /// The destination. No server uses it.
        case filling
        /// The destination has everything, and the source may reject writes already: it must not be emptied for another move.
        case ready
    }

    /// The next page to copy: rows of `table` after `cursor`. Nil tables: all pages are copied.
    package struct Progress: Codable, Hashable, Sendable {
        package var table: String?
        package var cursor: [MovedValue]?

        package init(table: String?, cursor: [MovedValue]? = nil) {
            self.table = table
            self.cursor = cursor
        }
    }

    /// The same in both databases.
    package var id: String
    package var phase: Phase
    /// The other database: an address, with its password, or a folder.
    package var other: String
    /// Of a destination.
    package var progress: Progress?
    /// Statements that make the destination's triggers, which don't run while it is filled.
    package var triggers: [String]?

    package init(id: String, phase: Phase, other: String, progress: Progress? = nil, triggers: [String]? = nil) {
        self.id = id
        self.phase = phase
        self.other = other
        self.progress = progress
        self.triggers = triggers
    }

    /// - Throws: `StorageFailure` with `.corrupt`.
    package init(stored: [UInt8]) throws {
        do {
            self = try JSONDecoder().decode(MoveState.self, from: Data(stored))
        } catch {
            throw StorageFailure(.corrupt, "the state of a move is unreadable")
        }
    }

    /// - Throws: `StorageFailure` with `.moved` or `.arriving` unless servers and commands may use the database.
    package func checkUse() throws(StorageFailure) {
        switch phase {
        case .capturing: break
        case .away: throw .moved
        case .filling, .ready: throw .isArriving
        }
    }

    package func stored() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return Array(try encoder.encode(self))
    }

    /// The message of the trigger that rejects writes to a source that moved away.
    package static let fenceMessage = "tarn: moved away"
}

/// A row that a source's triggers listed as changed.
package struct MoveChange: Sendable {
    package var number: Int64
    package var table: String
    /// Values of the table's ``MovedTable/key``; none for a table of server values.
    package var key: [MovedValue]

    package init(number: Int64, table: String, key: [MovedValue]) {
        self.number = number
        self.table = table
        self.key = key
    }
}

/// Reads rows in one state of a database.
package protocol MoveRows {
    /// Reads the next rows of a table, in an order of the database's own.
    ///
    /// - Parameter cursor: The end of the page before; nil for the first.
    /// - Returns: Rows of a few megabytes at most, and the cursor of the next page; nil after the last.
    func page(of table: MovedTable, after cursor: [MovedValue]?) throws -> (rows: [[MovedValue]], next: [MovedValue]?)
    func rows(of table: MovedTable, keys: [[MovedValue]]) throws -> [[MovedValue]]
    /// The oldest changes with a greater number.
    func changes(after number: Int64, limit: Int, _ tables: [String: MovedTable]) throws -> [MoveChange]
    func values() throws -> [String: MovedValue]
}

/// A database of a server as source or destination of a move. Its calls wait for the database: it is used by one thread of its own.
///
/// Only ``stopping(_:)`` and ``transaction(_:)`` write, and neither is called inside the other.
package protocol MoveEnd: AnyObject {
    /// For sentences, without a password.
    var shown: String { get }
    /// How the other database finds this one: an address, or the absolute path of a folder.
    var address: String { get }
    var files: AssetFolder { get }
    var isSQLite: Bool { get }

    func shapes() throws -> [TableShape]
    func state() throws -> MoveState?
    /// Runs `body` in a transaction that reads the last committed state.
    func snapshot<Value>(_ body: (any MoveRows) throws -> Value) throws -> Value
    func transaction(_ body: () throws -> Void) throws
    /// Inside of a transaction, as all that follow.
    func set(_ state: MoveState?) throws

    // MARK: Source

    /// Lists each row in `move_changes` that any process changes from now on.
    func capture(_ tables: [MovedTable]) throws
    /// Ends ``capture(_:)``.
    func release() throws
    /// Stores the numbers in the names of objects, which are those of the partitions here, for a destination with others.
    ///
    /// - Parameter areNew: Whether earlier partitions are stored.
    func storeObjectParts(areNew: Bool) throws
    /// Removes changes that the destination has, by their numbers: one with a smaller number may be committed later. A transaction of its
    /// own.
    func forget(_ numbers: [Int64]) throws
    /// Runs `body` in a transaction, without any other write at the same time.
    func stopping(_ body: (any MoveRows) throws -> Void) throws
    /// Makes every later write of any process fail.
    func fence(_ tables: [MovedTable]) throws

    // MARK: Destination

    /// Whether it has data of a server that is not a copy.
    func isInUse() throws -> Bool
    /// Removes all rows, and what would run for new ones.
    ///
    /// - Returns: Statements for ``finish(_:)``.
    func empty(_ tables: [MovedTable]) throws -> [String]
    /// Whether partitions have the source's numbers here. The functions for parts are for a database that gives its own.
    var keepsParts: Bool { get }
    /// The numbers here of all partitions that ``addPart(of:number:)`` was called for, by their numbers at the source.
    func parts() throws -> [Int64: Int64]
    /// Chooses the number of a partition here, and stores it for ``parts()``.
    ///
    /// - Parameter number: At the source.
    func addPart(of partition: Partition, number: Int64) throws -> Int64
    /// The number of a partition with a row; not inside of a transaction.
    func existingPart(of partition: Partition) throws -> Int64?
    /// Deletes the rows of the keys, and stores rows; one with the unique value of another row replaces it.
    func replace(_ table: MovedTable, keys: [[MovedValue]], with rows: [[MovedValue]]) throws
    func set(_ values: [String: MovedValue]) throws
    /// Makes the database ready for a server.
    func finish(_ triggers: [String]) throws

    func close()
}

/// A storage with data that may move to another database while a server uses it.
package protocol MovableStorage: Sendable {
    /// Nil unless a move uses the database, or moved its data.
    func moveState() async throws -> MoveState?
}
