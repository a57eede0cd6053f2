// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudEngineSQLite
import CloudWire
import Foundation
import Synchronization

/// A folder that goes with the test.
final class TemporaryFolder: Sendable {
    let path = FileManager.default.temporaryDirectory.appending(path: "tarn-\(UUID().uuidString)").path

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// Numbers from 1.
final class Counter: Sendable {
    private let last = Mutex(0)

    func next() -> Int {
        last.withLock { last in
            last += 1
            return last
        }
    }
}

/// The engine on a real store, called by one device of one user, with a clock that stands still.
final class Bench: Sendable {
    static let start: Int64 = 1_900_000_000_000
    static let garden = ZoneID(zoneName: "Garden")

    let folder: TemporaryFolder
    let store: SQLiteServerStore
    let engine: Engine
    private let identifiers = Counter()

    init(
        folder: TemporaryFolder = TemporaryFolder(), limits: Limits = Limits(),
        schemaByUse: Set<CloudEnvironment> = [.development]
    ) throws {
        self.folder = folder
        store = try SQLiteServerStore(path: folder.path, use: .server)
        engine = Engine(limits: limits, sealer: store.sealer, schemaByUse: schemaByUse)
    }

    /// A bench with a user that has the zone `Garden`.
    static func withGarden(limits: Limits = Limits()) async throws -> Bench {
        let bench = try Bench(limits: limits)
        try await bench.makeZone(garden)
        return bench
    }

    func call(
        user: String = "_mia", container: String = "iCloud.org.example.notes", now: Int64 = Bench.start
    ) -> Call {
        Call(
            partition: Partition(containerIdentifier: container, environment: .development, owner: user),
            caller: Caller(userRecordName: user, deviceID: "tablet"), now: now, baseURL: "http://tarn.example",
            makeIdentifier: { [identifiers] in "id-\(identifiers.next())" })
    }

    func write<Value: Sendable>(
        _ call: Call? = nil, _ body: @escaping @Sendable (Engine, any PartitionWriter, Call) throws -> Value
    ) async throws -> Value {
        let call = call ?? self.call()
        return try await store.write(call.partition) { [engine] in try body(engine, $0, call) }
    }

    func read<Value: Sendable>(
        _ call: Call? = nil, _ body: @escaping @Sendable (Engine, any PartitionReader, Call) throws -> Value
    ) async throws -> Value {
        let call = call ?? self.call()
        return try await store.read(call.partition) { [engine] in try body(engine, $0, call) }
    }

    func makeZone(_ zoneID: ZoneID, _ call: Call? = nil) async throws {
        _ = try await write(call) { try $0.modifyZones(ZonesModifyRequest(operations: [.create(zoneID)]), in: $1, $2) }
    }

    func deleteZone(_ zoneID: ZoneID, _ call: Call? = nil) async throws {
        _ = try await write(call) { try $0.modifyZones(ZonesModifyRequest(operations: [.delete(zoneID)]), in: $1, $2) }
    }

    @discardableResult
    func modify(
        _ operations: RecordOperation..., in zoneID: ZoneID = Bench.garden, atomic: Bool = true, as call: Call? = nil
    ) async throws -> [RecordResult] {
        try await modify(operations, in: zoneID, atomic: atomic, as: call)
    }

    @discardableResult
    func modify(
        _ operations: [RecordOperation], in zoneID: ZoneID = Bench.garden, atomic: Bool = true, as call: Call? = nil
    ) async throws -> [RecordResult] {
        let request = ModifyRecordsRequest(operations: operations, zoneID: zoneID, atomic: atomic)
        return try await write(call) { try $0.modifyRecords(request, in: $1, $2).response.results }
    }

    func lookup(_ names: String..., in zoneID: ZoneID = Bench.garden, as call: Call? = nil) async throws -> [RecordResult] {
        let request = LookupRecordsRequest(recordNames: names, zoneID: zoneID)
        return try await read(call) { try $0.lookupRecords(request, in: $1, $2).results }
    }

    func biography(
        _ name: String, from number: Int64? = nil, limit: Int = 100, in zoneID: ZoneID = Bench.garden, as call: Call? = nil
    ) async throws -> RecordBiography {
        try await read(call) { try $0.biography(of: name, in: zoneID, from: number, limit: limit, $1, $2) }
    }

    func zoneChanges(
        since token: String? = nil, limit: Int? = nil, in zoneID: ZoneID = Bench.garden, as call: Call? = nil
    ) async throws -> ZoneChangesResult {
        let request = ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: zoneID, syncToken: token, resultsLimit: limit)])
        let response = try await read(call) { try $0.zoneChanges(request, in: $1, $2) }
        return response.zones[0]
    }

    func databaseChanges(
        since token: String? = nil, limit: Int? = nil, as call: Call? = nil
    ) async throws -> DatabaseChangesResponse {
        let request = DatabaseChangesRequest(syncToken: token, resultsLimit: limit)
        return try await read(call) { try $0.databaseChanges(request, in: $1, $2) }
    }
}

extension Record {
    static func plant(_ name: String, tag: String? = nil, _ fields: [String: FieldValue] = [:]) -> Record {
        Record(recordName: name, recordType: "Plant", recordChangeTag: tag, fields: fields.mapValues { Field($0) })
    }
}

extension RecordResult {
    /// One word for what became of the record.
    var word: String {
        switch self {
        case .record(let record): record.isDeleted ? "deleted" : "saved"
        case .failure(_, let error, _): error.code.rawValue
        }
    }

    var record: Record? {
        if case .record(let record) = self { record } else { nil }
    }

    var error: WireError? {
        if case .failure(_, let error, _) = self { error } else { nil }
    }
}

extension ZoneChangesResult {
    var changes: ZoneChanges? {
        if case .changes(let changes) = self { changes } else { nil }
    }

    var error: WireError? {
        if case .failure(_, let error) = self { error } else { nil }
    }

    /// `+p1 -p2`: records that are there and records that are gone, in order.
    var picture: String {
        (changes?.records ?? []).map { ($0.isDeleted ? "-" : "+") + $0.recordName }.joined(separator: " ")
    }
}

/// The error of a rejected call.
func refusal<Value>(_ body: () async throws -> Value) async -> WireError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? WireError
    }
}
