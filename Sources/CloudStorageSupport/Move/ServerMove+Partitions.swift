// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Foundation

/// Partitions have other numbers at the destination, and files of assets have these numbers in their paths.
extension ServerMove {
    /// A row with the number that its partition has at the destination; nil for a partition that was removed concurrently.
    func relocated(_ row: [MovedValue], of table: MovedTable) throws -> [MovedValue]? {
        guard let index = table.part, case .integer(let number) = row[index] else { return row }
        if !isKnown(number), table.name == "partitions" { try learn(row, of: table, number: number) }
        guard let part = try part(number) else { return nil }
        var row = row
        row[index] = .integer(part)
        return row
    }

    func relocatedKey(_ key: [MovedValue], of table: MovedTable) throws -> [MovedValue]? {
        guard let index = table.part.flatMap({ table.key.firstIndex(of: $0) }), case .integer(let number) = key[index] else { return key }
        guard let part = try part(number) else { return nil }
        var key = key
        key[index] = .integer(part)
        return key
    }

    func isKnown(_ number: Int64) -> Bool { destination.keepsParts || parts[number] != nil }

    private func part(_ number: Int64) throws -> Int64? {
        if destination.keepsParts { return number }
        if let part = parts[number] { return part }
        // Made since its table was copied. Its own row comes with its change.
        guard let table = byName["partitions"], let row = try current?.rows(of: table, keys: [[.integer(number)]]).first else { return nil }
        try learn(row, of: table, number: number)
        return parts[number]
    }

    private func learn(_ row: [MovedValue], of table: MovedTable, number: Int64) throws {
        let partition = try Self.partition(row, of: table)
        parts[number] = try destination.addPart(of: partition, number: number)
    }

    private static func partition(_ row: [MovedValue], of table: MovedTable) throws -> Partition {
        func text(_ name: String) -> String {
            guard let index = table.columns.firstIndex(where: { $0.name == name }), case .text(let text) = row[index] else { return "" }
            return text
        }
        guard let environment = CloudEnvironment(rawValue: text("environment")), let scope = DatabaseScope(rawValue: text("scope")) else {
            throw StorageFailure(.corrupt, "a partition is of a database that never was")
        }
        return Partition(containerIdentifier: text("container"), environment: environment, scope: scope, owner: text("owner"))
    }

    // MARK: Files of assets

    func bringFiles(_ table: MovedTable, keys: [[MovedValue]], rows: [[MovedValue]], isCompared: Bool) throws {
        guard table.name == "assets" else { return }
        let stored = rows.map { table.keyValues(of: $0) }
        for key in Set(keys).subtracting(stored) {
            missing.remove(key)
            guard let (checksum, part, new) = try file(key) else { continue }
            files.remove(checksum, from: part, to: new)
        }
        for key in stored {
            guard let (checksum, part, new) = try file(key) else { continue }
            if try files.bring(checksum, from: part, to: new) {
                missing.remove(key)
                if isCompared { try files.check(checksum, part: new) }
            } else if !hasObjects {
                missing.insert(key)
            }
        }
    }

    private func file(_ key: [MovedValue]) throws -> (checksum: String, part: Int64, new: Int64)? {
        guard case (.integer(let part), .text(let checksum)) = (key[0], key[1]), let new = try self.part(part) else { return nil }
        return (checksum, part, new)
    }

    /// Reads every file of the assets in `rows`.
    func checkFiles(_ rows: [[MovedValue]], of table: MovedTable) throws {
        for row in rows {
            let key = table.keyValues(of: row)
            guard let (checksum, part, new) = try file(key) else { continue }
            // An earlier run may have found no file.
            guard try files.bring(checksum, from: part, to: new) else {
                if !hasObjects { missing.insert(key) }
                continue
            }
            try files.check(checksum, part: new)
            report.files += 1
        }
    }

    /// Removes the source's files of assets that the destination has under other names, once no server reads them.
    package func removeSourceFiles() throws {
        guard let table = byName["partitions"], let index = table.part, !destination.keepsParts else { return }
        var cursor: [MovedValue]?
        repeat {
            let (rows, next) = try source.snapshot { try $0.page(of: table, after: cursor) }
            for row in rows {
                guard case .integer(let number) = row[index] else { continue }
                let partition = try Self.partition(row, of: table)
                guard let new = try destination.existingPart(of: partition) else { continue }
                files.removeSource(number, newPart: new)
            }
            cursor = next
        } while cursor != nil
    }
}
