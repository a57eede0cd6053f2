// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Foundation
import SystemSupport

/// Moves all data of a server from one database to another, while servers use the source.
///
/// ```
/// begin     triggers at the source list changed rows in move_changes
/// copy      all rows, table by table, in pages; the destination's transaction of a page also stores the place of the next one
/// catch up  rows of listed changes, until few are left
/// verify    in one state of the source: its listed changes first, then digests of all tables of both databases
/// stop      a transaction at the source that no write runs beside: the last changes, each row compared; then the source rejects writes
/// finish    the destination is ready for a server
/// ```
///
/// Only a move writes to the destination, and each change after the verification is compared by itself, so the destination has exactly the
/// source's rows when the source stops. All state is in the two databases: a move that ended early continues.
package final class ServerMove {
    /// A point between two transactions. Tests end a move at each.
    package enum Step: Hashable, Sendable {
        case captured, begun, copied, caughtUp, verified, stopped, finished
    }

    package struct Report: Hashable, Sendable {
        /// Rows by table, at the verification.
        package var rows: [String: Int] = [:]
        /// Files of assets, each with the bytes of its checksum.
        package var files = 0
        /// Changes during the move.
        package var changes = 0
        /// How long no write was accepted before the source rejected writes.
        package var stopMilliseconds = 0
        /// Whether an earlier run had moved everything.
        package var wasDone = false
    }

    private static let changesPerRound = 1000
    /// A round of fewer changes ends the catching up.
    private static let fewChanges = 100
    /// A source that changes faster than it is copied is stopped with the changes that remain.
    private static let roundsMax = 1000

    let source: any MoveEnd
    let destination: any MoveEnd
    let files: MoveFiles
    private let onStep: (Step) throws -> Void
    private let onTable: (String) -> Void
    private var tables: [MovedTable] = []
    var byName: [String: MovedTable] = [:]
    var parts: [Int64: Int64] = [:]
    var report = Report()
    /// Assets without a file, as part and checksum.
    var missing: Set<[MovedValue]> = []
    /// The state of the source that is being carried over.
    var current: (any MoveRows)?
    /// Whether files of assets are in an S3-compatible store, where they stay.
    var hasObjects = false
    /// Whether partitions with objects get other numbers at the destination.
    private var renamesParts: Bool { hasObjects && !destination.keepsParts }

    /// - Parameters:
    ///   - onTable: Called when the copy of a table begins.
    package init(
        from source: any MoveEnd, to destination: any MoveEnd, onTable: @escaping (String) -> Void = { _ in },
        onStep: @escaping (Step) throws -> Void = { _ in }
    ) {
        self.source = source
        self.destination = destination
        self.onTable = onTable
        self.onStep = onStep
        files = MoveFiles(source: source.files, destination: destination.files)
    }

    private static func plan(_ source: any MoveEnd, _ destination: any MoveEnd) throws -> [MovedTable] {
        let (sqlite, postgres) = source.isSQLite ? (source, destination) : (destination, source)
        return try MovedTables.plan(sqlite: try sqlite.shapes(), postgres: try postgres.shapes())
    }

    /// Moves everything, from where an earlier run ended.
    ///
    /// - Throws: `StorageFailure`: with `.nameTaken` for a destination in use, `.inUse` if the source moves elsewhere, `.corrupt` for rows
    ///   or files that differ.
    package func run() throws -> Report {
        tables = try Self.plan(source, destination)
        byName = Dictionary(tables.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let known = try source.state()
        if let known, known.other != destination.address {
            throw StorageFailure(.inUse, known.phase == .away ? "the data moved elsewhere" : "the data is being moved elsewhere")
        }
        if let known, known.phase == .away {
            try Self.finish(destination, id: known.id)
            report.wasDone = true
            return report
        }
        hasObjects = try source.snapshot { try $0.values() }[ServerValue.assetOwner] != nil
        let id = try begin(known)
        if renamesParts { try source.transaction { try source.storeObjectParts(areNew: false) } }
        parts = try destination.parts()
        try copy()
        try catchUp()
        try verify()
        try onStep(.verified)
        try catchUp()
        // Not while writes wait: those of the last changes are few.
        try files.synchronize()
        try stop(id)
        try onStep(.stopped)
        try Self.finish(destination, id: id)
        try onStep(.finished)
        return report
    }

    /// Makes a destination ready for a server, once its source rejects writes. Does nothing for one that is ready.
    package static func finish(_ destination: any MoveEnd, id: String) throws {
        try destination.transaction {
            guard let state = try destination.state(), [.filling, .ready].contains(state.phase), state.id == id else { return }
            try destination.finish(state.triggers ?? [])
            try destination.set(nil)
        }
    }

    /// Ends a move that has not stopped its source: the source continues as before. The destination is not used, so that a move to one that
    /// is gone can end.
    ///
    /// - Parameter isDestination: Whether an address is that of the destination.
    /// - Throws: `StorageFailure` with `.inUse` unless the source is being moved there.
    package static func cancel(_ source: any MoveEnd, isDestination: (_ address: String) -> Bool) throws {
        try source.transaction {
            guard let state = try source.state() else { throw StorageFailure(.inUse, "no move of it was begun") }
            guard state.phase == .capturing else { throw StorageFailure(.inUse, "the data moved already") }
            guard isDestination(state.other) else { throw StorageFailure(.inUse, "the data is being moved elsewhere") }
            try source.release()
            try source.set(nil)
        }
    }

    // MARK: Begin

    private func begin(_ known: MoveState?) throws -> String {
        let id = known?.id ?? UUID().uuidString
        let destinationState = try destination.state()
        let isOfThisMove = destinationState.map { [.filling, .ready].contains($0.phase) && $0.id == id } ?? false
        switch destinationState?.phase {
        // The rest of a move that ended, or data that is elsewhere.
        case .filling, .away: break
        case .ready where isOfThisMove: break
        case .ready: throw StorageFailure(.nameTaken, "the destination has data of another move")
        case .capturing, nil:
            guard try !destination.isInUse() else { throw StorageFailure(.nameTaken, "the destination has data of a server") }
        }
        if known == nil {
            let address = destination.address
            try source.transaction {
                try source.capture(tables)
                try source.set(MoveState(id: id, phase: .capturing, other: address))
            }
        }
        try onStep(.captured)
        if isOfThisMove { return id }
        let (first, address) = (tables[0].name, source.address)
        try destination.transaction {
            let triggers = try destination.empty(tables)
            let state = MoveState(
                id: id, phase: .filling, other: address, progress: MoveState.Progress(table: first), triggers: triggers)
            try destination.set(state)
        }
        try onStep(.begun)
        return id
    }

    // MARK: Copy

    private func copy() throws {
        while let state = try destination.state(), let name = state.progress?.table {
            guard let index = tables.firstIndex(where: { $0.name == name }) else {
                throw StorageFailure(.newerFormat, "a move by another version was begun")
            }
            if state.progress?.cursor == nil { onTable(name) }
            let table = tables[index]
            try source.snapshot { source in
                current = source
                let (rows, next) = try source.page(of: table, after: state.progress?.cursor)
                var following = state
                if let next {
                    following.progress = MoveState.Progress(table: name, cursor: next)
                } else {
                    following.progress = MoveState.Progress(table: index + 1 < tables.count ? tables[index + 1].name : nil)
                }
                try store([(table, [], rows)], state: following)
            }
            try onStep(.copied)
        }
    }

    /// Stores rows of the source, in one transaction.
    ///
    /// - Parameter changes: For each table the keys to delete, and the rows to store.
    private func store(
        _ changes: [(table: MovedTable, keys: [[MovedValue]], rows: [[MovedValue]])], state: MoveState? = nil, isCompared: Bool = false
    ) throws {
        try destination.transaction {
            for (table, keys, rows) in changes {
                let stored = try rows.compactMap { try relocated($0, of: table) }
                let deleted = try keys.compactMap { try relocatedKey($0, of: table) }
                try bringFiles(table, keys: keys, rows: rows, isCompared: isCompared)
                try destination.replace(table, keys: deleted, with: stored)
            }
            if let state { try destination.set(state) }
        }
        guard isCompared else { return }
        try destination.snapshot { result in
            for (table, keys, rows) in changes {
                let expected = try digest(rows.compactMap { try relocated($0, of: table) }, of: table)
                let found = try digest(try result.rows(of: table, keys: keys.compactMap { try relocatedKey($0, of: table) }), of: table)
                guard expected == found else { throw Self.difference(table, expected, found) }
            }
        }
    }

    private func digest(_ rows: [[MovedValue]], of table: MovedTable) throws -> RowDigest {
        var digest = RowDigest()
        for row in rows { digest.add(row, of: table) }
        return digest
    }

    private static func difference(_ table: MovedTable, _ expected: RowDigest, _ found: RowDigest) -> StorageFailure {
        StorageFailure(
            .corrupt, "rows of the table \(table.name) differ: \(expected.count) at the source, \(found.count) at the destination")
    }

    // MARK: Changes

    /// Brings the rows of a source's changes to the destination.
    ///
    /// - Returns: The changes' numbers.
    private func carry(_ rows: any MoveRows, after number: Int64, isCompared: Bool) throws -> [Int64] {
        current = rows
        let changes = try rows.changes(after: number, limit: Self.changesPerRound, byName)
        let keys = Dictionary(grouping: changes, by: \.table).mapValues { Array(Set($0.map(\.key))) }
        var stored: [(table: MovedTable, keys: [[MovedValue]], rows: [[MovedValue]])] = []
        // Partitions are the first table: rows of others need their numbers.
        for table in tables {
            guard let keys = keys[table.name] else { continue }
            stored.append((table, keys, try rows.rows(of: table, keys: keys)))
        }
        if !stored.isEmpty { try store(stored, isCompared: isCompared) }
        if keys.keys.contains(where: { MovedTables.ofServerValues.contains($0) }) { try copyValues(try rows.values()) }
        report.changes += changes.count
        return changes.map(\.number)
    }

    private func copyValues(_ values: [String: MovedValue]) throws {
        for key in values.keys { _ = try ServerValue.form(of: key) }
        try destination.transaction { try destination.set(values) }
    }

    private func catchUp() throws {
        for _ in 0..<Self.roundsMax {
            let numbers = try source.snapshot { try carry($0, after: 0, isCompared: false) }
            if !numbers.isEmpty { try source.forget(numbers) }
            try onStep(.caughtUp)
            if numbers.count < Self.fewChanges { return }
        }
    }

    // MARK: Verification

    /// Compares all rows, in one state of the source.
    private func verify() throws {
        let numbers = try source.snapshot { rows in
            var (last, numbers) = (0 as Int64, [Int64]())
            while true {
                let page = try carry(rows, after: last, isCompared: false)
                numbers += page
                guard let end = page.last else { break }
                last = end
            }
            try copyValues(try rows.values())
            try destination.snapshot { copies in
                for table in tables {
                    let expected = try digest(table, rows, isSource: true)
                    let found = try digest(table, copies, isSource: false)
                    guard expected == found else { throw Self.difference(table, expected, found) }
                    report.rows[table.name] = expected.count
                }
            }
            return numbers
        }
        for start in stride(from: 0, to: numbers.count, by: Self.changesPerRound) {
            try source.forget(Array(numbers[start..<min(start + Self.changesPerRound, numbers.count)]))
        }
    }

    private func digest(_ table: MovedTable, _ rows: any MoveRows, isSource: Bool) throws -> RowDigest {
        var digest = RowDigest()
        var cursor: [MovedValue]?
        repeat {
            let page = try rows.page(of: table, after: cursor)
            for row in page.rows { digest.add(isSource ? try knownPart(row, of: table) : row, of: table) }
            if isSource, table.name == "assets" { try checkFiles(page.rows, of: table) }
            cursor = page.next
        } while cursor != nil
        return digest
    }

    /// All partitions of the compared state are known, so the row of another one differs, as it should.
    private func knownPart(_ row: [MovedValue], of table: MovedTable) throws -> [MovedValue] {
        guard let index = table.part, case .integer(let number) = row[index], isKnown(number) else { return row }
        return try relocated(row, of: table) ?? row
    }

    // MARK: Stop

    private func stop(_ id: String) throws {
        let began = ContinuousClock.now
        try source.stopping { rows in
            if renamesParts { try source.storeObjectParts(areNew: true) }
            var last: Int64 = 0
            while let end = try carry(rows, after: last, isCompared: true).last { last = end }
            let values = try rows.values()
            guard hasObjects || values[ServerValue.assetOwner] == nil else {
                throw StorageFailure(.busy, "the server began to store assets in an S3-compatible store")
            }
            try copyValues(values)
            try compare(values)
            guard missing.isEmpty else {
                throw StorageFailure(.corrupt, "the files of \(CountText.text(missing.count, "asset")) are missing")
            }
            try files.synchronize()
            try destination.transaction {
                guard var state = try destination.state(), state.id == id else {
                    throw StorageFailure(.inUse, "the destination is used by another move")
                }
                state.phase = .ready
                try destination.set(state)
            }
            // First: the server's values are behind the fence, too.
            try source.set(MoveState(id: id, phase: .away, other: destination.address))
            try source.fence(tables)
        }
        report.stopMilliseconds = Int((ContinuousClock.now - began) / .milliseconds(1))
    }

    private func compare(_ values: [String: MovedValue]) throws {
        let copies = try destination.snapshot { try $0.values() }
        for (key, value) in values where !ServerValue.derived.contains(key) {
            guard copies[key] == value else { throw StorageFailure(.corrupt, "a value of the server differs") }
        }
        let extra = Set(copies.keys).subtracting(values.keys).subtracting(ServerValue.derived)
        guard extra.isEmpty else { throw StorageFailure(.corrupt, "the destination has values that the source lacks") }
    }
}
