// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Crypto
import Foundation
import SystemSupport

/// Retries requests that fail for a while, with the delay that the server asks for or exponential backoff.
struct Patience: Sendable {
    static let attemptsMax = 8
    private static let backoff = Backoff(firstSeconds: 1, longestSeconds: 60)
    /// The longest delay that a server can ask for.
    private static let delayMax: Double = 3600

    var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// Receives the error before each delay, and its seconds.
    var report: @Sendable (CKError, Double) -> Void = { _, _ in }

    func callAsFunction<Value>(_ body: () async throws -> Value) async throws -> Value {
        var attempt = 0
        while true {
            do {
                return try await body()
            } catch let error as CKError where error.mayPass && !error.isResponseTooLarge && attempt < Self.attemptsMax {
                attempt += 1
                let seconds = max(error.retryAfterSeconds ?? 0, Self.backoff.seconds(attempt: attempt, jitter: .random(in: 0...1)))
                let delay = min(seconds, Self.delayMax)
                report(error, delay)
                try await sleep(.seconds(delay))
            }
        }
    }
}

/// One side of a copy or comparison: a database of iCloud, or of a Tarn server.
struct CloudEnd: Sendable {
    /// For sentences.
    let name: String
    let client: CloudDatabaseClient
    var patience: Patience
    /// For sentences: `in iCloud`.
    var place: String { client.dialect == .webServices ? "in iCloud" : "on the Tarn server" }

    /// Records in one request or page: the documented limit, which both services keep.
    static let recordsMax = Limits.documentedWebServices.operationsPerRequest

    init(name: String, client: CloudDatabaseClient, patience: Patience = Patience()) {
        var client = client
        client.isolatesUnreadableRecords = true
        self.name = name
        self.client = client
        self.patience = patience
    }

    /// - Returns: Nil for an anonymous client.
    func userRecordName() async throws -> String? {
        do {
            return try await patience { try await client.callerIdentity().userRecordName }
        } catch let error as CKError where error.code == .notAuthenticated && client.scope == .public {
            return nil
        }
    }

    /// Names of custom zones.
    ///
    /// - Throws: `CommandError` for a zone that the server could not list: it would be missing without an error.
    func zones() async throws -> [String] {
        var names: [String] = []
        for result in try await patience({ try await client.listZones() }).zones {
            switch result {
            case .zone(let zone): if !zone.zoneID.isDefaultZone { names.append(zone.zoneID.zoneName) }
            case .deleted: break
            case .failure(let zone, let error):
                throw CommandError("\(name) did not list the zone \(zone.zoneName): \(error.reason).")
            }
        }
        return names.sorted()
    }

    /// Whether the schema has a record type, by a query of the default zone.
    ///
    /// - Throws: `CKError` for another failure, such as a missing index.
    func hasRecordType(_ type: String) async throws -> Bool {
        let query = QueryRecordsRequest(query: Query(recordType: type), zoneID: .defaultZone, resultsLimit: 1)
        do {
            _ = try await patience { try await client.queryRecords(query) }
            return true
        } catch let error as CKError where error.code == .unknownItem {
            return false
        }
    }

    /// Creates zones that don't exist yet.
    func create(zones: [String]) async throws {
        for start in stride(from: 0, to: zones.count, by: Self.recordsMax) {
            let part = zones[start..<min(start + Self.recordsMax, zones.count)]
            let request = ZonesModifyRequest(operations: part.map { .create(ZoneID(zoneName: $0)) })
            for case .failure(let zone, let error) in try await patience({ try await client.modifyZones(request) }).zones {
                throw CommandError("\(name) did not create the zone \(zone.zoneName): \(error.reason).")
            }
        }
    }

    // MARK: Reading

    struct Page: Sendable {
        var records: [Record]
        var deletions: [String]
        var position: String?
        var isLast: Bool
        /// Reasons of records that the server lists and could not return, by their names.
        var failures: [String: String] = [:]
    }

    /// The next page of a part.
    ///
    /// - Throws: `CKError` with `.changeTokenExpired` for an expired position.
    func page(of part: CopyPart, after position: String?) async throws -> Page {
        guard let type = part.recordType else { return try await zonePage(part.zone, after: position) }
        let response: QueryRecordsResponse
        do {
            response = try await withRoom { recordsMax in
                try await client.queryRecords(
                    QueryRecordsRequest(
                        query: Query(recordType: type), zoneID: ZoneID(zoneName: part.zone), resultsLimit: recordsMax,
                        continuationMarker: position))
            }
        } catch let error as CKError where error.code == .invalidArguments && position != nil {
            // No documented code says that a continuation marker has expired.
            throw CKError(.changeTokenExpired, error.localizedDescription, cause: error)
        } catch let error as CKError where error.code == .unknownItem {
            // The record type does not exist on this side.
            return Page(records: [], deletions: [], position: nil, isLast: true)
        }
        var page = Page(records: [], deletions: [], position: response.continuationMarker, isLast: response.continuationMarker == nil)
        for result in response.results {
            switch result {
            case .record(let record): page.records.append(record)
            // The record was deleted after the index listed it.
            case .failure(_, let error, _) where error.code == .notFound: break
            case .failure(let name, let error, _): page.failures[name] = error.reason
            }
        }
        return page
    }

    /// Retries a request for records with fewer of them, as long as its response is too large. No document limits the bytes of a response.
    private func withRoom<Value>(_ body: (_ recordsMax: Int) async throws -> Value) async throws -> Value {
        var recordsMax = Self.recordsMax
        while true {
            do {
                let count = recordsMax
                return try await patience { try await body(count) }
            } catch let error as CKError where error.isResponseTooLarge && recordsMax > 1 {
                recordsMax /= 2
            }
        }
    }

    private func zonePage(_ zone: String, after position: String?) async throws -> Page {
        let response = try await withRoom { recordsMax in
            let query = ZoneChangesQuery(zoneID: ZoneID(zoneName: zone), syncToken: position, resultsLimit: recordsMax)
            return try await client.zoneChanges(ZoneChangesRequest(zones: [query]))
        }
        switch response.zones.first {
        case .changes(let changes)?:
            var page = Page(records: [], deletions: [], position: changes.syncToken, isLast: !changes.moreComing)
            for record in changes.records {
                if record.isDeleted {
                    if !CopiedRecord.isShare(record) { page.deletions.append(record.recordName) }
                } else if record.recordType.isEmpty {
                    // The error dictionary of a record has its name and no type.
                    page.failures[record.recordName] = "\(name) did not return the record"
                } else {
                    page.records.append(record)
                }
            }
            return page
        case .failure(_, let error)?: throw CKError(error)
        case nil: throw CommandError("\(name) returned no changes of the zone \(zone).")
        }
    }

    /// The records of these names that exist.
    ///
    /// - Throws: `CKError` if the request failed, also with ``CloudKit/CKError/isZoneMissing``: that says nothing about the records.
    func records(_ names: [String], inZone zone: String) async throws -> [String: Record] {
        let (found, failures) = try await lookUp(names, inZone: zone)
        if let (name, error) = failures.min(by: { $0.key < $1.key }) {
            throw CommandError("\(self.name) did not return the record \(name): \(error.reason).")
        }
        return found
    }

    /// The records of these names that exist, and the errors of those that the server could not return.
    ///
    /// - Throws: As ``records(_:inZone:)`` for a request that failed.
    func lookUp(_ names: [String], inZone zone: String) async throws -> (found: [String: Record], failures: [String: WireError]) {
        var found: [String: Record] = [:]
        var failures: [String: WireError] = [:]
        var names = names
        var recordsMax = Self.recordsMax
        while true {
            failures = [:]
            var parts = LookUpParts(names, .documentedWebServices, atMost: recordsMax)
            do {
                while let results = try await patience({ try await client.lookUp(&parts, in: ZoneID(zoneName: zone)) }) {
                    for result in results {
                        switch result {
                        case .record(let record): found[record.recordName] = record.isDeleted ? nil : record
                        case .failure(_, let error, _) where error.code == .notFound: break
                        case .failure(_, let error, _) where error.code == .zoneNotFound: throw CKError(error)
                        case .failure(let name, let error, _): failures[name] = error
                        }
                    }
                }
            } catch let error as CKError where error.isResponseTooLarge && recordsMax > 1 {
                recordsMax /= 2
                continue
            }
            // No documented code is about a response without room for all records: those that failed are requested without the others.
            if failures.isEmpty || failures.count >= names.count { break }
            names = failures.keys.sorted()
        }
        return (found, failures)
    }

    // MARK: Writing

    /// Executes operations that can be repeated, in requests of the documented size.
    ///
    /// - Returns: The errors of rejected records by their names.
    func modify(_ operations: [RecordOperation], inZone zone: String) async throws -> [String: WireError] {
        var failures: [String: WireError] = [:]
        for batch in RecordBatches(operations, of: \.record) { failures.merge(try await execute(batch, inZone: zone)) { $1 } }
        return failures
    }

    /// Executes a batch. A request that the server rejects as a whole is divided: it may be too large for the server, by the size of the
    /// stored records that it replaces for example, or one of its records is rejected in this way.
    private func execute(_ batch: [RecordOperation], inZone zone: String) async throws -> [String: WireError] {
        var failures: [String: WireError] = [:]
        var rejectedCount = 0
        // The next part is the last one.
        var parts = [batch]
        while let part = parts.popLast() {
            let request = ModifyRecordsRequest(operations: part, zoneID: ZoneID(zoneName: zone), atomic: false, desiredKeys: [])
            let key = UUID().uuidString
            do {
                let response = try await patience { try await client.modifyRecords(request, idempotencyKey: key) }
                for case .failure(let name, let error, _) in response.results { failures[name] = error }
            } catch let error as CKError where error.mayBeAboutOneRecord {
                if part.count > 1 {
                    let middle = part.count / 2
                    parts.append(Array(part[middle...]))
                    parts.append(Array(part[..<middle]))
                    continue
                }
                rejectedCount += 1
                // A request that is rejected for each of its records has another fault.
                guard batch.count == 1 || rejectedCount < batch.count || error.code == .limitExceeded else { throw error }
                for operation in part { failures[operation.record.recordName] = WireError(.badRequest, error.localizedDescription) }
            }
        }
        return failures
    }

    // MARK: Assets

    /// A field of a record with an asset.
    struct AssetPlace: Sendable {
        var recordName: String
        var field: String
        var zone: String
    }

    /// Runs `body` with the content of an asset in a file that only this user can read.
    ///
    /// Addresses expire, possibly before all assets of a page are downloaded: the record is then requested for the present one.
    func withContent<Value>(
        of asset: AssetValue, at place: AssetPlace, _ body: (URL) async throws -> Value
    ) async throws -> Value {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("tarn-asset-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: url) }
        do {
            try await patience { try await client.downloadAsset(asset, to: url) }
        } catch let error as CKError where error.code == .assetNotAvailable {
            guard let renewed = try await renew(asset, at: place) else { throw error }
            try await patience { try await client.downloadAsset(renewed, to: url) }
        }
        return try await body(url)
    }

    /// The asset with its present address; nil if the record no longer has it.
    private func renew(_ asset: AssetValue, at place: AssetPlace) async throws -> AssetValue? {
        let record = try await records([place.recordName], inZone: place.zone)[place.recordName]
        var assets: [AssetValue] = []
        switch record?.fields[place.field]?.value {
        case .asset(let asset)?: assets = [asset]
        case .list(let elements, of: .asset)?: for case .asset(let asset) in elements { assets.append(asset) }
        default: break
        }
        return assets.first { $0.fileChecksum == asset.fileChecksum && $0.size == asset.size }
    }

    /// SHA-256 of an asset's content.
    func digest(of asset: AssetValue, at place: AssetPlace) async throws -> [UInt8] {
        try await withContent(of: asset, at: place) { url in
            let file = try FileHandle(forReadingFrom: url)
            defer { try? file.close() }
            var hash = SHA256()
            while let piece = try file.read(upToCount: 1 << 20), !piece.isEmpty { hash.update(data: piece) }
            return Array(hash.finalize())
        }
    }
}

extension CKError {
    /// Whether the zone of the request does not exist, or no longer.
    var isZoneMissing: Bool { code == .zoneNotFound || code == .userDeletedZone }

    /// Whether the server does not have the content of an asset, or not at its address.
    var isAssetMissing: Bool { userInfo[CKError.assetMissingKey] != nil }

    /// Whether a request with fewer records may be accepted. The documents have no code for a request that is too large: the
    /// descriptions of `BAD_REQUEST` and `QUOTA_EXCEEDED` fit.
    ///
    /// Source: *CloudKit Web Services Reference*, "Error Codes" and "Data Size Limits".
    fileprivate var mayBeAboutOneRecord: Bool {
        switch code {
        case .limitExceeded, .invalidArguments, .quotaExceeded, .serverRejectedRequest: true
        default: false
        }
    }
}
