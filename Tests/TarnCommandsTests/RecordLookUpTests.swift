// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudWire
import Synchronization
import Testing

@testable import TarnCommands

/// Commands that look up or change more records than a request may have.
@Suite struct RecordLookUpTests {
    private static let names = (0..<450).map { "n\($0)" }

    /// A server with a limit of the records of a request.
    private final class LimitedCarrier: RecordCarrier {
        private let recordsMax: Int
        private let requests = Mutex<[Int]>([])

        init(recordsMax: Int) { self.recordsMax = recordsMax }

        /// The number of names in each request.
        var counts: [Int] { requests.withLock { $0 } }

        func send(_ operation: ServicePath.Operation, _ body: [UInt8]) async throws -> [UInt8] {
            let names = try LookupRecordsRequest(json: body).records.map(\.recordName)
            requests.withLock { $0.append(names.count) }
            guard names.count <= recordsMax else { throw WireError(.badRequest, "too many records", nativeCode: .limitExceeded) }
            let results = names.map { RecordResult.record(Record(recordName: $0, recordType: "Note")) }
            return LookupRecordsResponse(results: results).encoded()
        }
    }

    @Test func aRequestHasAsManyNamesAsServersPermit() async throws {
        let carrier = LimitedCarrier(recordsMax: 200)
        let results = try await RecordDatabase(carrier: carrier, zoneID: .defaultZone).lookup(Self.names)
        #expect(results.map(\.recordName) == Self.names)
        #expect(carrier.counts == [200, 200, 50])
    }

    @Test func aRequestThatTheServerRejectsIsDivided() async throws {
        let carrier = LimitedCarrier(recordsMax: 100)
        let results = try await RecordDatabase(carrier: carrier, zoneID: .defaultZone).lookup(Self.names)
        #expect(results.map(\.recordName) == Self.names)
        #expect(carrier.counts == [200, 100, 100, 100, 100, 50])
    }

    @Test func aRecordThatIsRejectedAloneFails() async throws {
        let carrier = LimitedCarrier(recordsMax: 0)
        await #expect(throws: WireError.self) {
            _ = try await RecordDatabase(carrier: carrier, zoneID: .defaultZone).lookup(["n0", "n1"])
        }
        #expect(carrier.counts == [2, 1])
    }

    /// A server with limits of the operations of a request and of the bytes of a body.
    private final class LimitedWriter: RecordCarrier {
        private let operationsMax: Int
        private let bytesMax: Int
        private let requests = Mutex<[Int]>([])

        init(operationsMax: Int, bytesMax: Int = .max) {
            self.operationsMax = operationsMax
            self.bytesMax = bytesMax
        }

        /// The number of operations in each request.
        var counts: [Int] { requests.withLock { $0 } }

        func send(_ operation: ServicePath.Operation, _ body: [UInt8]) async throws -> [UInt8] {
            let operations = try ModifyRecordsRequest(json: body).operations
            requests.withLock { $0.append(operations.count) }
            guard operations.count <= operationsMax else { throw WireError(.badRequest, "too many operations", nativeCode: .limitExceeded) }
            guard body.count <= bytesMax else { throw WireError(.quotaExceeded, "too many bytes", nativeCode: .limitExceeded) }
            return ModifyRecordsResponse(results: operations.map { RecordResult.record($0.record) }).encoded()
        }
    }

    private static func saves(_ names: [String]) -> [RecordOperation] {
        names.map { RecordOperation(.forceReplace, Record(recordName: $0, recordType: "Note")) }
    }

    /// The size that the server accepted is that of later requests.
    @Test func aSaveThatTheServerRejectsIsDivided() async throws {
        let carrier = LimitedWriter(operationsMax: 60)
        let results = try await RecordDatabase(carrier: carrier, zoneID: .defaultZone).modify(Self.saves(Self.names))
        #expect(results.map(\.recordName) == Self.names)
        #expect(carrier.counts == [200, 100] + Array(repeating: 50, count: 9))
    }

    /// Only the large records have a request each.
    @Test func recordsBehindLargeOnesAreSentTogether() async throws {
        let carrier = LimitedWriter(operationsMax: 400, bytesMax: 1_000_000)
        let names = (0..<604).map { "n\($0)" }
        var operations = Self.saves(names)
        for index in 0..<4 { operations[index].record.fields["text"] = Field(.string(String(repeating: "a", count: 900_000))) }
        let results = try await RecordDatabase(carrier: carrier, zoneID: .defaultZone).modify(operations)
        #expect(results.map(\.recordName) == names)
        #expect(carrier.counts.count < 100)
    }

    @Test func aRecordThatIsTooLargeForTheServerFailsAlone() async throws {
        let carrier = LimitedWriter(operationsMax: 400, bytesMax: 10_000)
        var operations = Self.saves(["n0", "n1", "n2"])
        operations[1].record.fields["text"] = Field(.string(String(repeating: "a", count: 20_000)))
        let results = try await RecordDatabase(carrier: carrier, zoneID: .defaultZone).modify(operations)
        #expect(results.map(\.recordName) == ["n0", "n1", "n2"])
        let failed = results.filter { if case .failure = $0 { true } else { false } }
        #expect(failed.map(\.recordName) == ["n1"])
    }

    /// A server with a change feed that does not advance.
    private struct StuckCarrier: RecordCarrier {
        func send(_ operation: ServicePath.Operation, _ body: [UInt8]) async throws -> [UInt8] {
            let changes = ZoneChanges(zoneID: .defaultZone, records: [], syncToken: "s", moreComing: true)
            return ZoneChangesResponse(zones: [.changes(changes)]).encoded()
        }
    }

    /// An export would lack the records behind the page, without an error.
    @Test func aFeedThatDoesNotAdvanceIsAnError() async {
        let database = RecordDatabase(carrier: StuckCarrier(), zoneID: .defaultZone)
        let error = await #expect(throws: CommandError.self) { try await database.forEachRecord(ofTypes: nil) { _ in true } }
        #expect(error == CommandError.repeatedPage)
    }

    @Test func deleteRemovesMoreRecordsThanARequestMayHave() async {
        let folder = ScratchFolder("tarn-record")
        let place = ["--container", "iCloud.org.example.notes", "--data", folder.path]
        #expect(await CommandRun(["user", "add", "mia", "--data", folder.path]).status == 0)
        #expect(await CommandRun(["record", "put", "n449", "title=Milk", "--type", "Note"] + place).status == 0)
        let run = await CommandRun(["record", "delete", "--yes"] + Self.names + place)
        #expect(run.status == 0, "\(run.notes)")
        #expect(run.output.split(separator: "\n").count == 450)
        #expect(await CommandRun(["record", "get", "n449"] + place).status == 1)
    }

    @Test func getShowsMoreRecordsThanARequestMayHave() async {
        let folder = ScratchFolder("tarn-record")
        let place = ["--container", "iCloud.org.example.notes", "--data", folder.path]
        #expect(await CommandRun(["user", "add", "mia", "--data", folder.path]).status == 0)
        #expect(await CommandRun(["record", "put", "n449", "title=Milk", "--type", "Note"] + place).status == 0)
        let run = await CommandRun(["record", "get"] + Self.names + place)
        #expect(run.output.contains("Milk"), "\(run.notes)")
        #expect(run.notes.split(separator: "\n").count == 449)
        #expect(run.notes.contains("The record n448 does not exist"))
    }
}
