// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// Performs the requests of one operation, completion handler or async method on a database.
struct DatabaseRequests: Sendable {
    let database: CKDatabase
    let client: CloudDatabaseClient
    /// The journal of a persisted operation.
    let journal: JournaledExecution?

    init(_ database: CKDatabase, _ settings: OperationSettings? = nil) throws(CKError) {
        self.database = database
        var settings = settings ?? OperationSettings()
        settings.fill(from: database.defaults)
        var client = try database.client()
        journal = settings.journal
        let base: any CloudTransport = journal.map { StoppableTransport(client.transport, $0) } ?? client.transport
        let patient = RetryingTransport(base, settings, database.container.clock)
        client.transport = journal.map { JournaledTransport(patient, $0) } ?? patient
        self.client = client
    }

    var scope: CKDatabase.Scope { database.databaseScope }

    /// Creates a record from the server, of the class for its type.
    func make(_ record: Record, in zoneID: CKRecordZone.ID, scope: CKDatabase.Scope) -> CKRecord {
        let ckRecord = CKRecord.make(record, in: zoneID, scope: scope)
        if ckRecord is CKShare {
            let base = client.transport.linkBase
            ckRecord.stored.update { $0.linkBase = base }
        }
        return ckRecord
    }
}

/// The result of one item of many.
struct Outcome<ID: Sendable, Value: Sendable>: Sendable {
    let id: ID
    let result: Result<Value, any Error>
}

extension DatabaseRequests {
    /// Groups items by zone. The zones are in the order of their first items.
    func grouped<Item>(_ items: [Item], by zoneID: (Item) -> CKRecordZone.ID) -> [(CKRecordZone.ID, [Item])] {
        var zones: [(CKRecordZone.ID, [Item])] = []
        var positions: [CKRecordZone.ID: Int] = [:]
        for item in items {
            let id = zoneID(item)
            if let position = positions[id] {
                zones[position].1.append(item)
            } else {
                positions[id] = zones.count
                zones.append((id, [item]))
            }
        }
        return zones
    }

    /// Sends items in pages. The server may process a prefix of a page; the next page starts after it. If the server
    /// reports that a page is too large, the page size is halved.
    ///
    /// - Parameter send: Sends a page, and returns the number of processed items.
    func inPages<Item>(_ items: [Item], _ send: (ArraySlice<Item>) async throws -> Int) async throws {
        var remainingItems = items[...]
        var maximum = client.limits.recordsPerResponse
        while !remainingItems.isEmpty {
            try checkCancellation()
            let page = remainingItems.prefix(maximum)
            do {
                remainingItems = remainingItems.dropFirst(max(1, try await send(page)))
            } catch CKError.limitExceeded where page.count > 1 {
                maximum = page.count / 2
            }
        }
    }

    /// Sends all pages, and returns their results.
    func paged<Item, Response>(_ items: [Item], _ send: ([Item]) async throws -> [Response]) async throws -> [Response] {
        var responses: [Response] = []
        try await inPages(items) { page in
            responses += try await send(Array(page))
            return page.count
        }
        return responses
    }

    /// Throws the framework's error, which the async methods pass to the app, if the task was cancelled.
    ///
    /// Source: Apple's documentation of `CKError.Code.operationCancelled`.
    func checkCancellation() throws(CKError) {
        if Task.isCancelled { throw CKError(.operationCancelled) }
    }

    /// - Throws: ``CKError`` with `.limitExceeded`. Nothing was sent.
    func checkCount(_ count: Int, of items: String) throws(CKError) {
        let maximum = client.limits.operationsPerRequest
        guard count <= maximum else {
            throw CKError(.limitExceeded, "\(count) \(items) exceed the limit of \(maximum) for one request: send them in smaller batches")
        }
    }
}

extension CKError {
    /// Whether the failure of a request for one zone concerns that zone's items only.
    var isOfOneZone: Bool {
        switch code {
        case .zoneNotFound, .userDeletedZone, .permissionFailure, .zoneBusy, .quotaExceeded, .badDatabase: true
        default: false
        }
    }

    /// The error of an operation with failed items.
    static func partial(_ errors: [AnyHashable: any Error]) -> CKError {
        CKError(
            .partialFailure, "\(errors.count) items failed; their errors are in partialErrorsByItemID",
            userInfo: [CKPartialErrorsByItemIDKey: errors])
    }
}

/// Collects the errors of single items for the final block.
final class ItemErrors: Sendable {
    private let errors = Locked<[(AnyHashableBox, any Error)]>([])

    struct AnyHashableBox: @unchecked Sendable {  // Identifiers are immutable values.
        let id: AnyHashable
    }

    func note<ID: Hashable & Sendable, Value>(_ id: ID, _ result: Result<Value, any Error>) {
        guard case .failure(let error) = result else { return }
        let box = AnyHashableBox(id: AnyHashable(id))
        errors.update { $0.append((box, error)) }
    }

    /// - Throws: ``CKError`` with `.partialFailure` if there is an error.
    func throwIfAny() throws(CKError) {
        let all = errors.value
        guard !all.isEmpty else { return }
        throw CKError.partial(Dictionary(all.map { ($0.0.id, $0.1) }, uniquingKeysWith: { first, _ in first }))
    }
}
