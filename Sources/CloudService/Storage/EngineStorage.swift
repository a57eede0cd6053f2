// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudWire

/// Where the engine's data is. One conformance for each database.
package protocol EngineStorage: SharingStorage {
    /// Reads from one state of the partition.
    ///
    /// - Throws: What `body` throws; a storage failure; `WireError` with the native code `limitExceeded` once the time of the terms is up;
    ///   `CancellationError`.
    func read<Value: Sendable>(
        _ partition: Partition, _ terms: WorkTerms, _ body: @escaping @Sendable (any PartitionReader) throws -> Value
    ) async throws -> Value

    /// The same for a body that only reads a few records, or a page of them: where that is over before a switch of threads
    /// would be, it happens on the caller's thread. The body may run twice.
    func readBriefly<Value: Sendable>(
        _ partition: Partition, _ terms: WorkTerms, _ body: @escaping @Sendable (any PartitionReader) throws -> Value
    ) async throws -> Value

    /// Carries out one unit of work and returns once it is durable. Units of a partition are serial.
    ///
    /// Units of different requesters are scheduled fairly: one that has used much processor time waits for the others.
    ///
    /// - Throws: What `body` throws, or what `read` throws besides, with nothing changed; or a storage failure, after which nothing of the
    ///   unit is visible unless the failure says that the outcome is unknown.
    func write<Value: Sendable>(
        _ partition: Partition, _ terms: WorkTerms, _ body: @escaping @Sendable (any PartitionWriter) throws -> Value
    ) async throws -> Value

    /// Partitions of a container and environment that were ever written to.
    func partitions(containerIdentifier: String, environment: CloudEnvironment) async throws -> [Partition]

    /// Deleted zones that have records: the server ended before they were removed.
    func zonesToEmpty(limit: Int) async throws -> [ZoneToEmpty]

    /// Deletes zones, records and subscriptions of all partitions of a container and environment, and raises their epochs.
    func erase(containerIdentifier: String, environment: CloudEnvironment) async throws
}

/// A deleted zone with records.
package struct ZoneToEmpty: Hashable, Sendable {
    package var partition: Partition
    package var key: Int64
    /// When it was deleted, in milliseconds since 1970 UTC.
    package var time: Int64

    package init(partition: Partition, key: Int64, time: Int64) {
        self.partition = partition
        self.key = key
        self.time = time
    }
}

/// What of sharing stands outside partitions.
package protocol SharingStorage: Sendable {
    func target(ofLink link: Int64) async throws -> LinkTarget?
    /// News that were not delivered, since a server ended too early, with where they come from.
    func pendingNews(limit: Int) async throws -> [(partition: Partition, news: ShareNews)]
}

extension EngineStorage {
    /// Removes the contents of a deleted zone, in units of work that others do not wait for.
    package func empty(_ zone: ZoneToEmpty, _ terms: WorkTerms = .maintenance) async throws {
        var isEmpty = false
        while !isEmpty {
            isEmpty = try await write(zone.partition, terms) {
                try $0.removeContents(ofZone: zone.key, atMost: UnitOfWork.removedRowsMax, at: zone.time)
            }
        }
    }

    /// Reads for the server itself.
    package func read<Value: Sendable>(
        _ partition: Partition, _ body: @escaping @Sendable (any PartitionReader) throws -> Value
    ) async throws -> Value {
        try await read(partition, .maintenance, body)
    }

    /// Writes for the server itself.
    package func write<Value: Sendable>(
        _ partition: Partition, _ body: @escaping @Sendable (any PartitionWriter) throws -> Value
    ) async throws -> Value {
        try await write(partition, .maintenance, body)
    }
}
