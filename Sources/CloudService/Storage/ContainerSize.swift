// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudWire

/// Counts of a container in one environment: records that are not deleted, of the public database and of all users.
package struct ContainerSize: Hashable, Sendable {
    package var containerIdentifier: String
    package var environment: CloudEnvironment
    package var databases = 0
    /// Users with a private database.
    package var users = 0
    package var zones = 0
    package var records = 0
    /// Milliseconds since 1970 UTC; nil without a change, and if the counting ended at its bounds.
    package var lastChange: Int64?
    /// Whether the counting ended at its bounds: there may be more zones and records.
    package var isPartial = false

    package init(containerIdentifier: String, environment: CloudEnvironment) {
        self.containerIdentifier = containerIdentifier
        self.environment = environment
    }
}

/// Bounds of counting a container. Counts are not stored: each save of each app would write them.
package struct CountBounds: Hashable, Sendable {
    /// Changes, deleted records included, of one unit of work. Others have their turn after it.
    package var changesPerUnit = 20_000
    /// Records of a container and environment, behind which the counting ends.
    package var records = 1_000_000
    /// Databases of a container and environment that are counted.
    package var databases = 10_000

    package init() {}
}

/// The counting of one database, in units of work.
private struct DatabaseCount: Sendable {
    /// A zone that needs several units.
    private struct LargeZone {
        var key: Int64
        /// Number of the change up to which it is counted.
        var change: Int64
    }

    /// Parts of a large zone without a record, of one unit at most: most of its changes may be of few records.
    private static let partsPerUnit = 1000

    var zones = 0
    var records = 0
    var lastChange: Int64?
    /// Whether all zones are counted.
    var isComplete = false
    /// The key of the last zone that is counted, in the order of keys.
    private var lastKey = Int64.min
    private var large: LargeZone?

    /// Counts the next zones.
    mutating func count(_ view: any PartitionReader, _ bounds: CountBounds) throws {
        var rest = bounds.changesPerUnit
        let all = ChangeSlice(after: 0)
        for zone in try view.zones().sorted(by: { $0.key < $1.key }) where zone.key > lastKey {
            guard zone.key != large?.key else { return try countPart(of: zone, view, bounds) }
            let changes = try view.count(all, in: zone.key, shares: nil, includingDeleted: true, atMost: bounds.changesPerUnit + 1)
            // The first zone of a unit may need all of it.
            guard changes <= rest || rest == bounds.changesPerUnit else { return }
            try add(zone, view)
            guard changes <= bounds.changesPerUnit else {
                // The counter of the database gave the zone its key, so all changes of the zone have larger numbers, or this one.
                large = LargeZone(key: zone.key, change: max(0, zone.key - 1))
                return try countPart(of: zone, view, bounds)
            }
            records += try view.count(all, in: zone.key, shares: nil, includingDeleted: false, atMost: changes)
            lastKey = zone.key
            rest -= changes + 1
            if rest <= 0 { return }
        }
        isComplete = true
    }

    private mutating func add(_ zone: StoredZone, _ view: any PartitionReader) throws {
        zones += 1
        let newest = ChangeSlice(after: 0, isNewestFirst: true)
        let last = try view.records(newest, in: zone.key, includingDeleted: true, limit: 1, bytesMax: .max).first?.record.modified?
            .timestamp
        lastChange = [lastChange, last].compactMap(\.self).max()
    }

    /// Counts the next part of a large zone: the records with change numbers of a range.
    private mutating func countPart(of zone: StoredZone, _ view: any PartitionReader, _ bounds: CountBounds) throws {
        var change = large?.change ?? 0
        for _ in 0..<Self.partsPerUnit {
            let end = change + Int64(bounds.changesPerUnit)
            let part = ChangeSlice(after: change, before: end + 1)
            let found = try view.count(part, in: zone.key, shares: nil, includingDeleted: false, atMost: bounds.changesPerUnit)
            records += found
            change = end
            guard change < zone.change else {
                (lastKey, large) = (zone.key, nil)
                return
            }
            if found > 0 { break }
        }
        large?.change = change
    }
}

extension EngineStorage {
    /// Counts a container's databases one after the other, in short units of work, up to bounds.
    ///
    /// - Parameter progress: Called before each database, with its index and the number of all.
    package func size(
        ofContainer containerIdentifier: String, _ environment: CloudEnvironment, _ terms: WorkTerms = .maintenance,
        bounds: CountBounds = CountBounds(), progress: (_ index: Int, _ count: Int) -> Void = { _, _ in }
    ) async throws -> ContainerSize {
        let partitions = try await partitions(containerIdentifier: containerIdentifier, environment: environment)
        var size = ContainerSize(containerIdentifier: containerIdentifier, environment: environment)
        size.databases = partitions.count
        size.users = partitions.count { $0.scope == .private }
        for (index, partition) in partitions.enumerated() {
            progress(index, partitions.count)
            var counted = DatabaseCount()
            while !counted.isComplete, index < bounds.databases, size.records + counted.records < bounds.records {
                let before = counted
                counted = try await read(partition, terms) { view in
                    var next = before
                    try next.count(view, bounds)
                    return next
                }
            }
            size.zones += counted.zones
            size.records += counted.records
            size.lastChange = [size.lastChange, counted.lastChange].compactMap(\.self).max()
            guard counted.isComplete else {
                (size.isPartial, size.lastChange) = (true, nil)
                break
            }
        }
        return size
    }
}
