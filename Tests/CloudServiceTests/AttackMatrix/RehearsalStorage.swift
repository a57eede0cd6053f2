// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import Synchronization

/// The real storage: units of work are executed, compared and rolled back while it rehearses. So every cell of the
/// matrix meets the same data, and the storage says which partitions a request would have changed.
final class RehearsalStorage: EngineStorage {
    private struct State {
        var isRehearsing = false
        var changed: Set<Partition> = []
    }

    private struct Rehearsed<Value: Sendable>: Error {
        var value: Value
        var hasChanged: Bool
    }

    let store: any OperatedStorage
    private let state = Mutex(State())

    init(_ store: any OperatedStorage) { self.store = store }

    func beginRehearsal() { state.withLock { $0.isRehearsing = true } }
    /// From now on units are committed: a query that builds an index would begin again and again in a rehearsal.
    func endRehearsal() { state.withLock { $0.isRehearsing = false } }

    /// The partitions that units changed since the last call.
    func takeChanged() -> Set<Partition> {
        state.withLock { state in
            defer { state.changed = [] }
            return state.changed
        }
    }

    func write<Value: Sendable>(
        _ partition: Partition, _ terms: WorkTerms, _ body: @escaping @Sendable (any PartitionWriter) throws -> Value
    ) async throws -> Value {
        guard state.withLock({ $0.isRehearsing }) else { return try await store.write(partition, terms, body) }
        do {
            return try await store.write(partition, terms) { unit -> Value in
                let before = (try unit.state().counter, try unit.subscriptions())
                let value = try body(unit)
                let after = (try unit.state().counter, try unit.subscriptions())
                throw Rehearsed(value: value, hasChanged: before != after)
            }
        } catch let rehearsed as Rehearsed<Value> {
            if rehearsed.hasChanged { state.withLock { _ = $0.changed.insert(partition) } }
            return rehearsed.value
        }
    }

    func read<Value: Sendable>(
        _ partition: Partition, _ terms: WorkTerms, _ body: @escaping @Sendable (any PartitionReader) throws -> Value
    ) async throws -> Value { try await store.read(partition, terms, body) }

    func readBriefly<Value: Sendable>(
        _ partition: Partition, _ terms: WorkTerms, _ body: @escaping @Sendable (any PartitionReader) throws -> Value
    ) async throws -> Value { try await store.readBriefly(partition, terms, body) }

    func partitions(containerIdentifier: String, environment: CloudEnvironment) async throws -> [Partition] {
        try await store.partitions(containerIdentifier: containerIdentifier, environment: environment)
    }

    func zonesToEmpty(limit: Int) async throws -> [ZoneToEmpty] { try await store.zonesToEmpty(limit: limit) }

    func erase(containerIdentifier: String, environment: CloudEnvironment) async throws {
        try await store.erase(containerIdentifier: containerIdentifier, environment: environment)
    }

    func target(ofLink link: Int64) async throws -> LinkTarget? { try await store.target(ofLink: link) }

    func pendingNews(limit: Int) async throws -> [(partition: Partition, news: ShareNews)] { try await store.pendingNews(limit: limit) }
}
