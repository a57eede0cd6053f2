// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
package import CloudWire
package import StorageFixtures
package import TestBasics

/// The engine on a real store, called by one device of one user, with a clock that stands still.
package final class Bench: Sendable {
    package static let start: Int64 = 1_900_000_000_000
    package static let garden = ZoneID(zoneName: "Garden")

    package let place: ServerPlace
    package let store: any OperatedStorage
    package let engine: Engine
    private let identifiers = Counter()

    /// - Parameter place: Where the data is; nil for a new one.
    package init(
        place: ServerPlace? = nil, limits: Limits = Limits(), schemaByUse: Set<CloudEnvironment> = [.development]
    ) throws {
        self.place = try place ?? ServerPlace()
        store = try self.place.open()
        engine = Engine(limits: limits, sealer: store.sealer, schemaByUse: schemaByUse)
    }

    package var folder: TemporaryFolder { place.folder }

    /// A bench with a user that has the zone `Garden`.
    package static func withGarden(limits: Limits = Limits()) async throws -> Bench {
        let bench = try Bench(limits: limits)
        try await bench.makeZone(garden)
        return bench
    }

    package func call(
        user: String = "_mia", container: String = "iCloud.org.example.notes", now: Int64 = Bench.start
    ) -> Call {
        Call(
            partition: Partition(containerIdentifier: container, environment: .development, owner: user),
            caller: Caller(userRecordName: user, deviceID: "tablet"), now: now, baseURL: "http://tarn.example",
            makeIdentifier: { [identifiers] in "id-\(identifiers.next())" })
    }

    package func write<Value: Sendable>(
        _ call: Call? = nil, _ body: @escaping @Sendable (Engine, any PartitionWriter, Call) throws -> Value
    ) async throws -> Value {
        let call = call ?? self.call()
        return try await store.write(call.partition) { [engine] in try body(engine, $0, call) }
    }

    package func read<Value: Sendable>(
        _ call: Call? = nil, _ body: @escaping @Sendable (Engine, any PartitionReader, Call) throws -> Value
    ) async throws -> Value {
        let call = call ?? self.call()
        return try await store.read(call.partition) { [engine] in try body(engine, $0, call) }
    }

    package func makeZone(_ zoneID: ZoneID, _ call: Call? = nil) async throws {
        _ = try await write(call) { try $0.zones.modify(ZonesModifyRequest(operations: [.create(zoneID)]), in: $1, $2) }
    }

    package func deleteZone(_ zoneID: ZoneID, _ call: Call? = nil) async throws {
        _ = try await write(call) { try $0.zones.modify(ZonesModifyRequest(operations: [.delete(zoneID)]), in: $1, $2) }
    }

    @discardableResult
    package func modify(
        _ operations: RecordOperation..., in zoneID: ZoneID = Bench.garden, atomic: Bool = true, as call: Call? = nil
    ) async throws -> [RecordResult] {
        try await modify(operations, in: zoneID, atomic: atomic, as: call)
    }

    @discardableResult
    package func modify(
        _ operations: [RecordOperation], in zoneID: ZoneID = Bench.garden, atomic: Bool = true, as call: Call? = nil
    ) async throws -> [RecordResult] {
        let request = ModifyRecordsRequest(operations: operations, zoneID: zoneID, atomic: atomic)
        return try await write(call) { try $0.records.modify(request, in: $1, $2).response.results }
    }

    package func lookup(_ names: String..., in zoneID: ZoneID = Bench.garden, as call: Call? = nil) async throws -> [RecordResult] {
        let request = LookupRecordsRequest(recordNames: names, zoneID: zoneID)
        return try await read(call) { try $0.records.lookup(request, in: $1, $2).results }
    }

    package func biography(
        _ name: String, from number: Int64? = nil, limit: Int = 100, in zoneID: ZoneID = Bench.garden, as call: Call? = nil
    ) async throws -> RecordBiography {
        try await read(call) { try $0.changeLog.biography(of: name, in: zoneID, from: number, limit: limit, $1, $2) }
    }

    package func zoneChanges(
        since token: String? = nil, limit: Int? = nil, in zoneID: ZoneID = Bench.garden, as call: Call? = nil
    ) async throws -> ZoneChangesResult {
        let request = ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: zoneID, syncToken: token, resultsLimit: limit)])
        let response = try await read(call) { try $0.feed.zoneChanges(request, in: $1, $2) }
        return response.zones[0]
    }

    package func databaseChanges(
        since token: String? = nil, limit: Int? = nil, as call: Call? = nil
    ) async throws -> DatabaseChangesResponse {
        let request = DatabaseChangesRequest(syncToken: token, resultsLimit: limit)
        return try await read(call) { try $0.feed.databaseChanges(request, in: $1, $2) }
    }
}

extension Record {
    package static func plant(_ name: String, tag: String? = nil, _ fields: [String: FieldValue] = [:]) -> Record {
        Record(recordName: name, recordType: "Plant", recordChangeTag: tag, fields: fields.mapValues { Field($0) })
    }
}

extension RecordResult {
    /// One word for what became of the record.
    package var word: String {
        switch self {
        case .record(let record): record.isDeleted ? "deleted" : "saved"
        case .failure(_, let error, _): error.code.rawValue
        }
    }

    package var record: Record? {
        if case .record(let record) = self { record } else { nil }
    }

    package var error: WireError? {
        if case .failure(_, let error, _) = self { error } else { nil }
    }
}

extension ZoneChangesResult {
    package var changes: ZoneChanges? {
        if case .changes(let changes) = self { changes } else { nil }
    }

    package var error: WireError? {
        if case .failure(_, let error) = self { error } else { nil }
    }

    /// `+p1 -p2`: records that are there and records that are gone, in order.
    package var picture: String {
        (changes?.records ?? []).map { ($0.isDeleted ? "-" : "+") + $0.recordName }.joined(separator: " ")
    }
}

/// The error of a rejected call.
package func refusal<Value>(_ body: () async throws -> Value) async -> WireError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? WireError
    }
}
