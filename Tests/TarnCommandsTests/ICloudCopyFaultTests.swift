// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudService
import CloudWire
import Foundation
import Synchronization
import Testing

@testable import TarnCommands

/// `tarn icloud` with servers that return parts, reject requests, and lose zones, shares and assets.
@Suite struct ICloudCopyFaultTests {
    private typealias Fixture = ICloudCopyFixture

    private func plant(_ name: String, parent: String? = nil, _ fields: [String: FieldValue] = [:]) -> Record {
        var record = Record(recordName: name, recordType: "Plant", fields: fields.mapValues { Field($0) })
        record.sharing.parent = parent
        return record
    }

    private func plants(_ count: Int, parent: String? = nil) -> [Record] { (0..<count).map { plant("p\($0)", parent: parent) } }

    // MARK: Zones and shares

    /// The state has the records as copied, and the new zone has none of them.
    @Test func aZoneThatTheDestinationLostIsCopiedAgain() async throws {
        let fixture = try await Fixture()
        try await fixture.save(plants(3), at: fixture.iCloudEnd)
        var copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        let deletion = ZonesModifyRequest(operations: [.delete(Fixture.garden)])
        _ = try await fixture.tarnEnd.client.modifyZones(deletion)
        copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        #expect(copier.state.copied == 3)
        #expect(try await fixture.differences() == [])

        // A copy that ends after it created the zone.
        _ = try await fixture.tarnEnd.client.modifyZones(deletion)
        fixture.wire.fail(after: 0)
        copier = try fixture.copier()
        _ = await #expect(throws: (any Error).self) { try await copier.copy(Fixture.parts) }
        #expect(try await fixture.tarnEnd.zones() == ["Garden"])
        fixture.wire.fail(after: nil)
        copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        #expect(try await fixture.differences() == [])
    }

    /// The shares of a zone have one name on all servers.
    @Test func theShareOfAZoneIsNotDeletedWithThatOfTheSource() async throws {
        let fixture = try await Fixture()
        var share = Record(recordName: ShareDetails.zoneShareName, recordType: ShareDetails.recordType)
        share.sharing.details = ShareDetails()
        for end in [fixture.iCloudEnd, fixture.tarnEnd] {
            try await fixture.save([plant("bed")], at: end)
            #expect(try await end.modify([RecordOperation(.create, share)], inZone: "Garden").isEmpty)
        }
        var copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        try await fixture.delete(ShareDetails.zoneShareName, at: fixture.iCloudEnd)
        copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        #expect(copier.state.deleted == 0)
        #expect(try await fixture.tarnEnd.records([ShareDetails.zoneShareName], inZone: "Garden").count == 1)
    }

    @Test func aZoneThatCannotBeListedIsAnError() async throws {
        let fixture = try await Fixture()
        try await fixture.save([plant("bed")], at: fixture.iCloudEnd)
        fixture.wire.rewrite { operation, body in
            guard operation == "zones/list" else { return body }
            var response = try ZonesResponse(json: body)
            response.zones.append(.failure(ZoneID(zoneName: "Pond"), WireError(.internalError, "text")))
            return response.encoded()
        }
        let error = await #expect(throws: CommandError.self) { try await fixture.iCloudEnd.zones() }
        #expect(error?.description.contains("Pond") == true)
    }

    /// The copy was interrupted behind the page at which its token had expired.
    @Test func anInterruptedCopyReportsItsRestartedZones() async throws {
        let fixture = try await Fixture()
        try await fixture.save(plants(450), at: fixture.iCloudEnd)
        var copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        fixture.wire.refuseNext(1, with: WireError(.badRequest, "text"), of: "changes/zone", having: "syncToken")
        // The rejected request, and one page.
        fixture.wire.fail(after: 2)
        copier = try fixture.copier()
        _ = await #expect(throws: (any Error).self) { try await copier.copy(Fixture.parts) }
        fixture.wire.fail(after: nil)
        copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        #expect(copier.restarted == ["Garden"])
        copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        #expect(copier.restarted == [])
    }

    // MARK: Parts of responses

    @Test func aRecordThatAQueryCannotReturnIsCopiedLaterAndEndsAComparison() async throws {
        let fixture = try await Fixture()
        for cloud in [fixture.apple, fixture.tarn] {
            try await cloud.addIndexes(toType: "Post", fields: ["___recordID"], container: Fixture.container)
        }
        let posts = (0..<3).map { Record(recordName: "post\($0)", recordType: "Post") }
        let failures = try await fixture.iCloudEnd.modify(posts.map { RecordOperation(.forceReplace, $0) }, inZone: ZoneID.defaultZoneName)
        #expect(failures.isEmpty)
        fixture.apple.clock.advance(by: .seconds(5))
        fixture.wire.rewrite { operation, body in
            guard operation == "records/query" else { return body }
            var response = try QueryRecordsResponse(json: body)
            response.results = response.results.map { result -> RecordResult in
                guard case .record(let record) = result, record.recordName == "post1" else { return result }
                return .failure(recordName: "post1", WireError(.internalError, "text"), serverRecord: nil)
            }
            return response.encoded()
        }
        let parts = [CopyPart(zone: ZoneID.defaultZoneName, recordType: "Post")]
        var copier = try fixture.copier()
        try await copier.copy(parts)
        #expect(copier.state.copied == 3)
        #expect(copier.state.deferred.isEmpty)
        let error = await #expect(throws: CommandError.self) { try await fixture.differences(parts) }
        #expect(error?.description.contains("post1") == true)
        fixture.wire.rewrite(nil)
        #expect(try await fixture.differences(parts) == [])
    }

    /// Otherwise the records behind the page would count as equal.
    @Test func aComparisonOfAFeedThatDoesNotAdvanceIsAnError() async throws {
        let fixture = try await Fixture()
        try await fixture.save(plants(3), at: fixture.iCloudEnd)
        try await fixture.save(plants(3), at: fixture.tarnEnd)
        let count = Mutex(0)
        fixture.wire.rewrite { operation, body in
            // A client that never stops ends without an error.
            guard operation == "changes/zone",
                count.withLock({
                    $0 += 1; return $0 < 10
                })
            else { return body }
            return Array(String(decoding: body, as: UTF8.self).replacing(#""moreComing":false"#, with: #""moreComing":true"#).utf8)
        }
        let error = await #expect(throws: CommandError.self) { try await fixture.differences() }
        #expect(error?.description.contains("twice") == true)
    }

    /// Replaces the first field `number` of a record by another text, in all responses with records.
    private static func rewriting(_ number: Int, to field: String) -> @Sendable (String, [UInt8]) throws -> [UInt8] {
        { operation, body in
            guard ["changes/zone", "records/lookup", "records/query"].contains(operation) else { return body }
            let former = #""number":{"type":"INT64","value":\#(number)}"#
            return Array(String(decoding: body, as: UTF8.self).replacing(former, with: field).utf8)
        }
    }

    @Test(arguments: [
        (
            #""number":{"type":"COLOR","value":"red"}"#,
            "the field number of type COLOR cannot be decoded (the type of the field is unknown)"
        ),
        (
            #""number":{"type":"INT64","value":{}}"#,
            "the field number of type INT64 cannot be decoded (Invalid value, expected type INT64)"
        ),
    ])
    func aRecordThatCannotBeDecodedIsReportedAlone(_ field: String, _ reason: String) async throws {
        let fixture = try await Fixture()
        try await fixture.save((0..<3).map { plant("p\($0)", ["number": .int64(770 + Int64($0))]) }, at: fixture.iCloudEnd)
        fixture.wire.rewrite(Self.rewriting(771, to: field))
        var copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        #expect(copier.state.copied == 2)
        #expect(copier.state.deferred == [CopyState.Deferred(zone: "Garden", recordName: "p1", reason: reason)])
        // A record of one side that the comparison finds behind the unreadable one.
        try await fixture.delete("p2", at: fixture.tarnEnd)
        #expect(try await fixture.differences() == ["p1 unreadable", "p2 onlyInICloud"])
        // The next run retries it.
        fixture.wire.rewrite(nil)
        copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        #expect(copier.state.deferred.isEmpty)
        try await fixture.delete("p2", at: fixture.iCloudEnd)
        #expect(try await fixture.differences() == [])
    }

    /// The first record is at both sides, so the comparison looks it up, too.
    @Test func anUnreadableRecordIsCountedOnceByAComparison() async throws {
        let fixture = try await Fixture()
        for end in [fixture.iCloudEnd, fixture.tarnEnd] {
            try await fixture.save((0..<2).map { plant("p\($0)", ["number": .int64(770 + Int64($0))]) }, at: end)
        }
        fixture.wire.rewrite(Self.rewriting(770, to: #""number":{"type":"COLOR","value":"red"}"#))
        var comparer = RecordComparer(iCloud: fixture.iCloudEnd, tarn: fixture.tarnEnd) { _, _, _, _ in }
        try await comparer.compare(Fixture.parts)
        #expect(comparer.failed == 1)
        #expect(comparer.compared == 1)
        #expect(comparer.differing == 0)
    }

    @Test func aTimeWithAFractionIsRounded() async throws {
        let fixture = try await Fixture()
        try await fixture.save([plant("p", ["when": .timestamp(1_893_456_000_123)])], at: fixture.iCloudEnd)
        fixture.wire.rewrite { operation, body in
            guard ["changes/zone", "records/lookup"].contains(operation) else { return body }
            return Array(String(decoding: body, as: UTF8.self).replacing("1893456000123", with: "1893456000123.75").utf8)
        }
        var copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        #expect(copier.state.copied == 1)
        let copied = try await fixture.tarnEnd.records(["p"], inZone: "Garden")["p"]
        #expect(copied?.fields["when"]?.value == .timestamp(1_893_456_000_124))
        #expect(try await fixture.differences() == [])
    }

    /// The response has room for one record.
    @Test func recordsWithoutRoomInAResponseAreRequestedAgain() async throws {
        let fixture = try await Fixture()
        try await fixture.save(plants(3), at: fixture.iCloudEnd)
        fixture.wire.rewrite { operation, body in
            guard operation == "records/lookup" else { return body }
            var response = try LookupRecordsResponse(json: body)
            response.results = response.results.enumerated().map { index, result -> RecordResult in
                index == 0 ? result : .failure(recordName: result.recordName, WireError(.badRequest, "text"), serverRecord: nil)
            }
            return response.encoded()
        }
        #expect(try await fixture.iCloudEnd.records(["p0", "p1", "p2"], inZone: "Garden").count == 3)
    }

    /// Reads responses of at most 50 records.
    private final class SmallRoom: CloudTransport {
        private let base: any CloudTransport
        let pageCount = Mutex(0)
        var needsIdleTimeout: Bool { base.needsIdleTimeout }

        init(_ base: any CloudTransport) { self.base = base }

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            let response = try await base.send(request)
            guard case .service(let path) = request.target else { return response }
            var recordCount = 0
            if path.hasSuffix("changes/zone") {
                pageCount.withLock { $0 += 1 }
                if case .changes(let changes)? = try ZoneChangesResponse(json: response.body).zones.first {
                    recordCount = changes.records.count
                }
            } else if path.hasSuffix("records/lookup") {
                recordCount = try LookupRecordsResponse(json: response.body).results.count
            }
            guard recordCount > 50 else { return response }
            throw CKError(.networkFailure, "too large", userInfo: [CKError.responseTooLargeKey: NSNumber(value: true)])
        }

        func stream(_ request: TransportRequest) async throws -> TransportStream { try await base.stream(request) }
    }

    @Test func aResponseThatIsTooLargeIsRequestedWithFewerRecords() async throws {
        let fixture = try await Fixture()
        try await fixture.save(plants(100), at: fixture.tarnEnd)
        var client = fixture.tarnEnd.client
        let room = SmallRoom(client.transport)
        client.transport = room
        let source = CloudEnd(name: "The Tarn server", client: client, patience: fixture.tarnEnd.patience)
        var copier = RecordCopier(from: source, to: fixture.iCloudEnd, file: fixture.file, state: try fixture.file.read(fixture.copy))
        try await copier.copy(Fixture.parts)
        #expect(copier.state.copied == 100)
        // Up to 200, 100 and 50 records, and then the other 50.
        let pageCount = room.pageCount.withLock { $0 }
        #expect(pageCount == 4)
        #expect(try await source.records(plants(100).map(\.recordName), inZone: "Garden").count == 100)
        #expect(try await fixture.differences() == [])
    }

    @Test func aReferenceWithoutAZoneIsToTheZoneOfItsRecord() {
        let zone = ZoneID(zoneName: "Garden", ownerRecordName: "_1")
        let iCloud = plant("a", ["bed": .reference(RecordReference(recordName: "b", zoneID: zone))])
        let tarn = plant("a", ["bed": .reference(RecordReference(recordName: "b"))])
        #expect(RecordComparison(iCloud: iCloud, tarn: tarn, inZone: "Garden").fields == [])
        #expect(RecordComparison(iCloud: iCloud, tarn: tarn, inZone: "Pond").fields == ["bed"])
    }

    // MARK: Required records

    /// All records of the first page have a parent, and its parent, on later pages.
    @Test func parentsAreCopiedBeforeTheirChildren() async throws {
        let fixture = try await Fixture()
        try await fixture.save([plant("root"), plant("bed", parent: "root")], at: fixture.iCloudEnd)
        try await fixture.save(plants(220, parent: "bed"), at: fixture.iCloudEnd)
        let changed = ["name": FieldValue.string("a")]
        try await fixture.save([plant("bed", parent: "root", changed), plant("root", changed)], at: fixture.iCloudEnd)
        var copier = try fixture.copier()
        copier.deferredMax = 0
        try await copier.copy(Fixture.parts)
        #expect(copier.state.copied == 222)
        #expect(try await fixture.differences() == [])
    }

    private func child(_ name: String, of target: String, number: Int64, isInList: Bool = false) -> Record {
        let reference = FieldValue.reference(RecordReference(recordName: target, zoneID: Fixture.garden, action: .deleteSelf))
        let (field, value) = isInList ? ("owners", FieldValue.list([reference], of: .reference)) : ("owner", reference)
        return plant(name, [field: value, "number": .int64(number)])
    }

    /// The source saved "late" after the deletion of its target, so both "late" and its unchanged child outlive that.
    @Test(arguments: [CopyState.deletionsMax, 0], [false, true])
    func recordsThatReferToADeletedOneOutliveItsDeletion(deletionsMax: Int, isInList: Bool) async throws {
        let fixture = try await Fixture()
        try await fixture.save([plant("old"), plant("late"), child("leaf", of: "late", number: 1)], at: fixture.iCloudEnd)
        var copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        try await fixture.delete("old", at: fixture.iCloudEnd)
        try await fixture.save([child("late", of: "old", number: 2, isInList: isInList)], at: fixture.iCloudEnd)
        copier = try fixture.copier()
        copier.deletionsMax = deletionsMax
        try await copier.copy(Fixture.parts)
        #expect(try await fixture.differences() == [])
        #expect(copier.state.deleted == 1)
        #expect(copier.state.copied == 1)
        #expect(copier.state.deferred.isEmpty)
        #expect(copier.state[Fixture.parts[0]].dependents == nil)
    }

    /// The run ends after the page with "late", and the next one continues it.
    @Test func recordsThatReferToADeletedOneAreCompletedAfterAnInterruption() async throws {
        let fixture = try await Fixture()
        try await fixture.save([plant("old"), plant("late"), child("leaf", of: "late", number: 1)], at: fixture.iCloudEnd)
        var copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        try await fixture.delete("old", at: fixture.iCloudEnd)
        try await fixture.save([child("late", of: "old", number: 2)] + plants(220), at: fixture.iCloudEnd)
        fixture.wire.fail(after: 1)
        copier = try fixture.copier()
        _ = await #expect(throws: (any Error).self) { try await copier.copy(Fixture.parts) }
        fixture.wire.fail(after: nil)
        copier = try fixture.copier()
        #expect(copier.state[Fixture.parts[0]].dependents == ["late"])
        try await copier.copy(Fixture.parts)
        #expect(try await fixture.differences() == [])
        #expect(copier.state.copied == 221)
    }

    /// The deletion is on the first page of the feed, and the moved record on the second. Its own child did not change.
    @Test func aDeletionDoesNotCascadeToARecordThatWasMovedAway() async throws {
        let fixture = try await Fixture()
        try await fixture.save(
            [plant("old"), plant("new"), child("moved", of: "old", number: 1), child("leaf", of: "moved", number: 1)], at: fixture.iCloudEnd
        )
        var copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        try await fixture.save([child("moved", of: "new", number: 2)], at: fixture.iCloudEnd)
        try await fixture.delete("old", at: fixture.iCloudEnd)
        try await fixture.save(plants(220), at: fixture.iCloudEnd)
        try await fixture.save([child("moved", of: "new", number: 3)], at: fixture.iCloudEnd)
        copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        #expect(try await fixture.differences() == [])
        #expect(copier.state.deleted == 1)
        #expect(copier.state.copied == 221)
    }

    @Test func aRecordIsCopiedWithoutAParentThatWasDeleted() async throws {
        let fixture = try await Fixture()
        try await fixture.save([plant("root"), plant("child", parent: "root")], at: fixture.iCloudEnd)
        try await fixture.delete("root", at: fixture.iCloudEnd)
        var copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        #expect(copier.state.deferred.isEmpty)
        #expect(copier.state.copied == 1)
        #expect(try await fixture.differences() == ["child parent"])
    }

    // MARK: Rejected requests

    @Test(arguments: [WireError.Code.badRequest, .quotaExceeded]) func aRequestThatIsTooLargeIsDivided(_ code: WireError.Code) async throws
    {
        let fixture = try await Fixture()
        try await fixture.save(plants(20), at: fixture.tarnEnd)
        fixture.wire.refuseNext(1, with: WireError(code, "text"), of: "records/modify")
        var copier = try fixture.copier(isPull: false)
        try await copier.copy(Fixture.parts)
        #expect(copier.state.copied == 20)
        let requests = fixture.wire.paths.withLock { $0 }.count { $0 == "records/modify" }
        #expect(requests == 3)
        #expect(try await fixture.differences() == [])
    }

    @Test func aRecordForWhichARequestIsRejectedIsReportedAlone() async throws {
        let fixture = try await Fixture()
        try await fixture.save(plants(20), at: fixture.tarnEnd)
        fixture.wire.refuseNext(1000, with: WireError(.badRequest, "text"), of: "records/modify", having: "p7")
        var copier = try fixture.copier(isPull: false)
        try await copier.copy(Fixture.parts)
        #expect(copier.state.copied == 19)
        #expect(copier.state.deferred == [CopyState.Deferred(zone: "Garden", recordName: "p7", reason: "text")])
    }

    @Test func aRejectionOfAllRequestsEndsACopy() async throws {
        let fixture = try await Fixture()
        try await fixture.save(plants(20), at: fixture.tarnEnd)
        fixture.wire.refuseNext(1000, with: WireError(.badRequest, "text"), of: "records/modify")
        var copier = try fixture.copier(isPull: false)
        let error = await #expect(throws: CKError.self) { try await copier.copy(Fixture.parts) }
        #expect(error?.code == .invalidArguments)
        #expect(copier.state.deferred.isEmpty)
    }

    /// A reason of a server, which may be hostile.
    @Test func anErrorOfAServerDoesNotControlTheTerminal() {
        let error = CommandError(iCloud: CKError(WireError(.accessDenied, "\u{1B}]0;title\u{7}\u{1B}[2Jno access")))
        #expect(error.description.hasPrefix(#"\u{1b}]0;title\u{7}\u{1b}[2Jno access. "#), "\(error.description.debugDescription)")
    }

    // MARK: Assets

    @Test func anExpiredAddressOfAnAssetIsRenewed() async throws {
        let fixture = try await Fixture()
        let photo = try await fixture.asset(1, of: "p", at: fixture.iCloudEnd)
        try await fixture.save([plant("p", ["photo": photo])], at: fixture.iCloudEnd)
        fixture.wire.loseNextDownloads(1)
        var copier = try fixture.copier()
        copier.deferredMax = 0
        try await copier.copy(Fixture.parts)
        #expect(copier.state.copied == 1)
        #expect(try await fixture.differences() == [])
    }

    @Test func anAssetThatAServerLostIsADifference() async throws {
        let fixture = try await Fixture()
        for (byte, end) in [(UInt8(1), fixture.iCloudEnd), (UInt8(2), fixture.tarnEnd)] {
            let photo = try await fixture.asset(byte, of: "p", at: end)
            try await fixture.save([plant("p", ["photo": photo]), plant("q")], at: end)
        }
        try await fixture.delete("q", at: fixture.tarnEnd)
        fixture.wire.loseNextDownloads(100)
        #expect(try await fixture.differences() == ["p fields photo", "q onlyInICloud"])
    }
}
