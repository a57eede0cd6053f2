// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// One piece of work on a database: what operations, completion handlers and async methods all come down to.
struct DatabaseRun: Sendable {
    let database: CKDatabase
    let client: CloudDatabaseClient
    /// Of an operation that is kept.
    let journal: JournalRun?

    init(_ database: CKDatabase, _ settings: OperationSettings? = nil) throws(CKError) {
        self.database = database
        var settings = settings ?? OperationSettings()
        settings.fill(from: database.defaults)
        var client = try database.client()
        journal = settings.journal
        let base: any CloudTransport = journal.map { StoppableTransport(client.transport, $0) } ?? client.transport
        let patient = PatientTransport(base, settings, database.container.pace)
        client.transport = journal.map { JournaledTransport(patient, $0) } ?? patient
        self.client = client
    }

    var scope: CKDatabase.Scope { database.databaseScope }

    /// A record from the server, of the class for its type.
    func make(_ record: Record, in zoneID: CKRecordZone.ID, scope: CKDatabase.Scope) -> CKRecord {
        let made = CKRecord.make(record, in: zoneID, scope: scope)
        if made is CKShare {
            let base = client.transport.linkBase
            made.stored.update { $0.linkBase = base }
        }
        return made
    }
}

/// What became of one item of many.
struct Outcome<ID: Sendable, Value: Sendable>: Sendable {
    let id: ID
    let result: Result<Value, any Error>
}

extension DatabaseRun {
    /// Items by zone, the zones in the order of their first items.
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

    /// Asks about items in pages, of which the server takes as many as it likes, from the first on. Where it says that a page is
    /// too many, the next ones are half as long.
    ///
    /// - Parameter ask: Answers how many of the items it dealt with.
    func inPages<Item>(_ items: [Item], _ ask: (ArraySlice<Item>) async throws -> Int) async throws {
        var rest = items[...]
        var most = client.limits.recordsPerResponse
        while !rest.isEmpty {
            try Task.checkCancellation()
            let page = rest.prefix(most)
            do {
                rest = rest.dropFirst(max(1, try await ask(page)))
            } catch CKError.limitExceeded where page.count > 1 {
                most = page.count / 2
            }
        }
    }

    /// What was answered to all pages.
    func paged<Item, Answer>(_ items: [Item], _ ask: ([Item]) async throws -> [Answer]) async throws -> [Answer] {
        var answers: [Answer] = []
        try await inPages(items) { page in
            answers += try await ask(Array(page))
            return page.count
        }
        return answers
    }

    /// - Throws: ``CKError`` with `.limitExceeded`, before anything was sent.
    func checkCount(_ count: Int, of items: String) throws(CKError) {
        let most = client.limits.operationsPerRequest
        guard count <= most else {
            throw CKError(.limitExceeded, "\(count) \(items) at once are more than \(most): send them in smaller batches")
        }
    }
}

extension CKError {
    /// Whether the error of a request about one zone is that of its items, so that other zones are not concerned.
    var isOfOneZone: Bool {
        switch code {
        case .zoneNotFound, .userDeletedZone, .permissionFailure, .zoneBusy, .quotaExceeded, .badDatabase: true
        default: false
        }
    }

    /// The error of an operation some of whose items failed.
    static func partial(_ errors: [AnyHashable: any Error]) -> CKError {
        CKError(
            .partialFailure, "\(errors.count) of the items failed; their errors are in partialErrorsByItemID",
            userInfo: [CKPartialErrorsByItemIDKey: errors])
    }
}

/// Collects the errors of single items on the way to the final block.
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

    /// - Throws: ``CKError`` with `.partialFailure` if there is any.
    func throwIfAny() throws(CKError) {
        let all = errors.value
        guard !all.isEmpty else { return }
        throw CKError.partial(Dictionary(all.map { ($0.0.id, $0.1) }, uniquingKeysWith: { first, _ in first }))
    }
}
