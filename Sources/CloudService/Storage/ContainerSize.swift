// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudWire

/// Counts of a container in one environment: every record that is not deleted, of the public database and of all users.
package struct ContainerSize: Hashable, Sendable {
    package var containerIdentifier: String
    package var environment: CloudEnvironment
    package var databases = 0
    /// Users with a private database.
    package var users = 0
    package var zones = 0
    package var records = 0
    package var bytes = StoredBytes()
    /// Milliseconds since 1970 UTC.
    package var lastChange: Int64?

    package init(containerIdentifier: String, environment: CloudEnvironment) {
        self.containerIdentifier = containerIdentifier
        self.environment = environment
    }

    fileprivate mutating func add(_ counts: DatabaseCounts, isPrivate: Bool) {
        databases += 1
        users += isPrivate ? 1 : 0
        zones += counts.zones
        records += counts.records
        bytes.records += counts.bytes.records
        bytes.assets += counts.bytes.assets
        lastChange = [lastChange, counts.lastChange].compactMap(\.self).max()
    }
}

/// The counts of one database.
private struct DatabaseCounts: Sendable {
    var zones = 0
    var records = 0
    var bytes: StoredBytes
    var lastChange: Int64?

    init(_ view: any PartitionReader) throws {
        bytes = try view.state().usage
        for zone in try view.zones() where !zone.isDeleted {
            zones += 1
            records += try view.count(ChangeSlice(after: 0), in: zone.key, shares: nil, includingDeleted: false, atMost: .max)
            let newest = ChangeSlice(after: 0, isNewestFirst: true)
            let last = try view.records(newest, in: zone.key, includingDeleted: true, limit: 1, bytesMax: .max).first?.record.modified?
                .timestamp
            lastChange = [lastChange, last].compactMap(\.self).max()
        }
    }
}

extension EngineStorage {
    /// Counts a container's databases one after the other. It reads every record, so that its time is proportional to their number.
    ///
    /// - Parameter progress: Called before each database, with its index and the number of all.
    package func size(
        ofContainer containerIdentifier: String, _ environment: CloudEnvironment, _ terms: WorkTerms = .maintenance,
        progress: (_ index: Int, _ count: Int) -> Void = { _, _ in }
    ) async throws -> ContainerSize {
        let partitions = try await partitions(containerIdentifier: containerIdentifier, environment: environment)
        var size = ContainerSize(containerIdentifier: containerIdentifier, environment: environment)
        for (index, partition) in partitions.enumerated() {
            progress(index, partitions.count)
            let counts = try await read(partition, terms) { try DatabaseCounts($0) }
            size.add(counts, isPrivate: partition.scope == .private)
        }
        return size
    }
}

extension CloudService {
    /// Counts a container's databases in the background; see `EngineStorage.size(ofContainer:_:_:progress:)`.
    package func size(ofContainer containerIdentifier: String, _ environment: CloudEnvironment) async throws -> ContainerSize {
        try await storage.size(
            ofContainer: containerIdentifier, environment, WorkTerms(requester: "", milliseconds: nil, isBackground: true))
    }
}
