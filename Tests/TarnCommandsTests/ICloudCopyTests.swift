// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudInProcess
import CloudKit
import CloudService
import CloudWire
import Foundation
import Synchronization
import Testing

@testable import TarnCommands

/// `tarn icloud pull`, `push` and `compare`, between a server with only what Apple documents and a server of Tarn's.
@Suite struct ICloudCopyTests {
    private typealias Fixture = ICloudCopyFixture
    private static let container = ICloudCopyFixture.container
    private static let garden = ICloudCopyFixture.garden

    private func plant(_ name: String, _ fields: [String: FieldValue] = [:]) -> Record {
        Record(recordName: name, recordType: "Plant", fields: fields.mapValues { Field($0) })
    }

    @Test func pullCopiesRecordsAndAssetsAndLaterChanges() async throws {
        let fixture = try await Fixture()
        var records = (0..<450).map { plant("p\($0)", ["number": .int64(Int64($0)), "weight": .double(2), "when": .timestamp(1000)]) }
        records[1].fields["photo"] = Field(try await fixture.asset(1, of: "p1", at: fixture.iCloudEnd))
        records[2].fields["bed"] = Field(.reference(RecordReference(recordName: "p1", zoneID: Self.garden, action: .deleteSelf)))
        records[2].sharing.parent = "p1"
        records[3].fields["tags"] = Field(.list([], of: nil))
        try await fixture.save(records, at: fixture.iCloudEnd)
        #expect(try await fixture.differences().count == 450)

        var copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        #expect(copier.state.copied == 450)
        #expect(copier.state.deferred.isEmpty)
        #expect(try await fixture.differences() == [])

        // The next run copies changes only.
        try await fixture.save([plant("p5", ["number": .int64(-5)]), plant("new")], at: fixture.iCloudEnd)
        try await fixture.delete("p6", at: fixture.iCloudEnd)
        copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        #expect(copier.state.copied == 2)
        #expect(copier.state.deleted == 1)
        #expect(try await fixture.differences() == [])
    }

    @Test func pushCopiesToICloud() async throws {
        let fixture = try await Fixture()
        var records = (0..<250).map { plant("p\($0)", ["number": .int64(Int64($0))]) }
        records[1].fields["photo"] = Field(try await fixture.asset(3, of: "p1", at: fixture.tarnEnd))
        try await fixture.save(records, at: fixture.tarnEnd)
        var copier = try fixture.copier(isPull: false)
        try await copier.copy(Fixture.parts)
        #expect(copier.state.copied == 250)
        #expect(try await fixture.differences() == [])
    }

    /// A copy that ended anywhere continues, and repeats one page at most.
    @Test(arguments: [0, 1, 2]) func anInterruptedPullContinues(_ requests: Int) async throws {
        let fixture = try await Fixture()
        try await fixture.save((0..<500).map { plant("p\($0)", ["number": .int64(Int64($0))]) }, at: fixture.iCloudEnd)
        fixture.wire.fail(after: requests)
        var copier = try fixture.copier()
        _ = await #expect(throws: (any Error).self) { try await copier.copy(Fixture.parts) }
        fixture.wire.fail(after: nil)
        fixture.wire.paths.withLock { $0 = [] }
        copier = try fixture.copier()
        let position = copier.state[Fixture.parts[0]].position
        #expect((position == nil) == (requests == 0))
        try await copier.copy(Fixture.parts)
        #expect(copier.state.copied == 500)
        let pages = fixture.wire.paths.withLock { $0 }.count { $0 == "changes/zone" }
        #expect(pages == 3 - requests)
        #expect(try await fixture.differences() == [])
    }

    @Test func differencesAreFoundRecordByRecord() async throws {
        let fixture = try await Fixture()
        var records = ["same", "changed", "gone", "moved", "typed"].map { plant($0, ["name": .string($0)]) }
        records[0].fields["photo"] = Field(try await fixture.asset(1, of: "same", at: fixture.iCloudEnd))
        records[1].fields["photo"] = Field(try await fixture.asset(1, of: "changed", at: fixture.iCloudEnd))
        try await fixture.save(records, at: fixture.iCloudEnd)
        var copier = try fixture.copier()
        try await copier.copy(Fixture.parts)

        // An asset of equal size with other content, a changed field, and records of one side.
        var changed = plant("changed", ["name": .string("other")])
        changed.fields["photo"] = Field(try await fixture.asset(2, of: "changed", at: fixture.tarnEnd))
        var moved = plant("moved", ["name": .string("moved")])
        moved.sharing.parent = "same"
        try await fixture.save([changed, moved, plant("extra")], at: fixture.tarnEnd)
        try await fixture.delete("gone", at: fixture.tarnEnd)
        try await fixture.delete("typed", at: fixture.tarnEnd)
        try await fixture.save(
            [Record(recordName: "typed", recordType: "Tree", fields: ["name": Field(.string("typed"))])], at: fixture.tarnEnd)
        #expect(
            try await fixture.differences() == [
                "changed fields name,photo", "extra onlyInTarn", "gone onlyInICloud", "moved parent",
                "typed recordType",
            ])
    }

    /// A record with a validated reference may be listed before its target.
    @Test func rejectedRecordsAreRetriedOnceTheirTargetsAreThere() async throws {
        let fixture = try await Fixture()
        try await fixture.save([plant("target", ["name": .string("a")])], at: fixture.iCloudEnd)
        let reference = RecordReference(recordName: "target", zoneID: Self.garden, action: .validate)
        try await fixture.save([plant("source", ["bed": .reference(reference)])], at: fixture.iCloudEnd)
        // The target changes last, so that a full feed has it after the source.
        try await fixture.save((0..<250).map { plant("p\($0)") }, at: fixture.iCloudEnd)
        try await fixture.save([plant("target", ["name": .string("b")])], at: fixture.iCloudEnd)
        var copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        #expect(copier.state.deferred.isEmpty, "\(copier.state.deferred)")
        #expect(copier.state.copied == 252)
        #expect(try await fixture.differences() == [])
    }

    /// No documented code says that a position has expired, so a rejected one counts as expired, once.
    @Test func aRejectedPositionStartsAPartAgainOnce() async throws {
        let fixture = try await Fixture()
        try await fixture.save((0..<450).map { plant("p\($0)") }, at: fixture.iCloudEnd)
        let rejection = WireError(.badRequest, "BadRequestException: Unexpected input")
        fixture.wire.refuseNext(1, with: rejection, of: "changes/zone", having: "syncToken")
        var copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        #expect(copier.restarted == ["Garden"])
        #expect(try await fixture.differences() == [])

        // A source that rejects each position would be read forever.
        fixture.wire.refuseNext(50, with: rejection, of: "changes/zone", having: "syncToken")
        copier = try fixture.copier()
        let error = await #expect(throws: CommandError.self) { try await copier.copy(Fixture.parts) }
        #expect(error?.description.contains("Unexpected input") == true)
        fixture.wire.refuseNext(0, with: rejection)
        copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        #expect(try await fixture.differences() == [])
    }

    /// Saves records that the destination rejects, since a field has another type.
    private func rejected(_ names: [String], _ fixture: Fixture) async throws {
        try await fixture.save([plant(names[0], ["name": .int64(1)])], at: fixture.tarnEnd)
        try await fixture.save(names.map { plant($0, ["name": .string("a")]) }, at: fixture.iCloudEnd)
    }

    @Test func tooManyRejectedRecordsStopACopy() async throws {
        let fixture = try await Fixture()
        try await rejected((0..<5).map { "p\($0)" }, fixture)
        var copier = try fixture.copier()
        copier.deferredMax = 4
        let error = await #expect(throws: CommandError.self) { try await copier.copy(Fixture.parts) }
        #expect(error?.description.contains("rejects too many records") == true)
        copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        #expect(copier.state.deferred.count == 5)
        #expect(copier.state.copied == 0)
    }

    /// The lookup of rejected records fails as a whole: that isn't the news that they were deleted.
    @Test(arguments: [WireError.Code.zoneNotFound, .notFound]) func aFailedLookupDeletesNothing(_ code: WireError.Code) async throws {
        let fixture = try await Fixture()
        try await rejected(["p1"], fixture)
        fixture.wire.refuseNext(1, with: WireError(code, "text"), of: "records/lookup")
        var copier = try fixture.copier()
        if code == .zoneNotFound {
            try await copier.copy(Fixture.parts)
        } else {
            _ = await #expect(throws: CKError.self) { try await copier.copy(Fixture.parts) }
        }
        #expect(copier.state.deferred.map(\.recordName) == ["p1"])
        #expect(try await fixture.tarnEnd.records(["p1"], inZone: "Garden").count == 1)
    }

    @Test func sharesAndRecordsOfUsersAreLeftOut() async throws {
        let fixture = try await Fixture()
        try await fixture.save([plant("bed")], at: fixture.iCloudEnd)
        var share = Record(recordName: "share", recordType: ShareDetails.recordType)
        share.sharing.details = ShareDetails(rootRecordName: "bed", publicPermission: .none, participants: [])
        #expect(try await fixture.iCloudEnd.modify([RecordOperation(.create, share)], inZone: "Garden").isEmpty)
        var copier = try fixture.copier()
        try await copier.copy(Fixture.parts)
        #expect(copier.state.copied == 1)
        #expect(copier.state.skipped == 1)
        #expect(try await fixture.differences() == [])
        #expect(!CopiedRecord.isCopied(Record(recordName: "_1", recordType: "Users")))
    }

    @Test func partsAreTheZonesAndTheNamedTypes() async throws {
        let fixture = try await Fixture()
        try await fixture.save([plant("p1")], at: fixture.iCloudEnd)
        let options = try ICloudPairOptions.parse(["--type", "Post", "--type", "Tag"])
        #expect(
            try await options.parts(of: fixture.iCloudEnd) == [
                CopyPart(zone: "Garden", recordType: nil), CopyPart(zone: ZoneID.defaultZoneName, recordType: "Post"),
                CopyPart(zone: ZoneID.defaultZoneName, recordType: "Tag"),
            ])
        let missing = try ICloudPairOptions.parse(["--zone", "Pond"])
        let error = await #expect(throws: CommandError.self) { try await missing.parts(of: fixture.iCloudEnd) }
        #expect(error?.description.contains("Pond") == true)
        let mistyped = try ICloudPairOptions.parse(["--zone", "Gardn"])
        let suggestion = await #expect(throws: CommandError.self) { try await mistyped.parts(of: fixture.iCloudEnd, fixture.tarnEnd) }
        #expect(
            suggestion?.description
                == "The zone Gardn does not exist in iCloud or on the Tarn server: leave --zone out to use all. Did you mean 'Garden'?")
    }

    /// A query of a record type that does not exist copies nothing.
    @Test func aMistypedRecordTypeIsAnError() async throws {
        let fixture = try await Fixture(.public)
        try await fixture.apple.addIndexes(toType: "CD_Post", fields: ["___recordID"], container: Self.container)
        let post = Record(recordName: "post", recordType: "CD_Post")
        #expect(try await fixture.iCloudEnd.modify([RecordOperation(.forceReplace, post)], inZone: ZoneID.defaultZoneName).isEmpty)
        let mistyped = try ICloudPairOptions.parse(["--database", "public", "--type", "CD_Post", "--type", "posts"])
        let error = await #expect(throws: CommandError.self) { try await mistyped.checkTypes(of: fixture.iCloudEnd) }
        #expect(
            error?.description
                == "The record type posts of --type does not exist in iCloud, public database. Did you mean 'CD_Post'?")
        let existing = try ICloudPairOptions.parse(["--database", "public", "--type", "CD_Post"])
        try await existing.checkTypes(of: fixture.iCloudEnd)
        // One side of a comparison may lack the type.
        try await existing.checkTypes(of: fixture.tarnEnd, fixture.iCloudEnd)
        await #expect(throws: CommandError.self) { try await existing.checkTypes(of: fixture.tarnEnd) }
    }

    @Test func aPastedLineIsAnAddressWithATokenOrATokenAlone() throws {
        #expect(try ICloudCommand.SignIn.token(in: "https://localhost/?ckWebAuthToken=1__2__a%2Bb%3D") == "1__2__a+b=")
        #expect(try ICloudCommand.SignIn.token(in: "1__2__a+b/c=") == "1__2__a+b/c=")
        let error = #expect(throws: CommandError.self) { try ICloudCommand.SignIn.token(in: "https://localhost/?error=denied") }
        #expect(error?.description.contains("ckWebAuthToken") == true)
    }

    @Test func aThrottledRequestIsRepeatedAfterItsDelay() async throws {
        let fixture = try await Fixture()
        try await fixture.save([plant("p1")], at: fixture.iCloudEnd)
        let delays = Mutex<[Duration]>([])
        var end = fixture.iCloudEnd
        let reports = Mutex<[Double]>([])
        end.patience = Patience(
            sleep: { delay in delays.withLock { $0.append(delay) } }, report: { _, seconds in reports.withLock { $0.append(seconds) } })
        let busy = WireError(.throttled, "too many requests", retryAfter: 12)
        fixture.wire.refuseNext(2, with: busy)
        #expect(try await end.zones() == ["Garden"])
        #expect(delays.withLock { $0 } == [.seconds(12), .seconds(12)])
        #expect(reports.withLock { $0 } == [12, 12])
        fixture.wire.refuseNext(100, with: busy)
        let error = await #expect(throws: CKError.self) { try await end.zones() }
        #expect(error?.code == .requestRateLimited)
        #expect(delays.withLock { $0.count } == 2 + Patience.attemptsMax)
    }

    /// Record types of the default zone, which has no change feed.
    @Test(arguments: [DatabaseScope.public, .private]) func recordTypesAreCopiedByQueries(_ scope: DatabaseScope) async throws {
        let fixture = try await Fixture(scope)
        for cloud in [fixture.apple, fixture.tarn] {
            try await cloud.addIndexes(toType: "Post", fields: ["___recordID"], container: Self.container)
        }
        let posts = (0..<210).map { Record(recordName: "post\($0)", recordType: "Post", fields: ["title": Field(.string("\($0)"))]) }
        let failures = try await fixture.iCloudEnd.modify(posts.map { RecordOperation(.forceReplace, $0) }, inZone: ZoneID.defaultZoneName)
        #expect(failures.isEmpty)
        fixture.apple.clock.advance(by: .seconds(5))
        let parts = [
            CopyPart(zone: ZoneID.defaultZoneName, recordType: "Post"), CopyPart(zone: ZoneID.defaultZoneName, recordType: "None"),
        ]
        var copier = try fixture.copier()
        try await copier.copy(parts)
        #expect(copier.state.copied == 210)
        #expect(try await fixture.differences(parts) == [])
    }

    @Test func aStateIsOfOneCopy() async throws {
        let fixture = try await Fixture()
        try fixture.file.write(CopyState(fixture.copy))
        #expect(try fixture.file.read(fixture.copy) == CopyState(fixture.copy))
        var other = fixture.copy
        other.command = "push"
        let error = #expect(throws: CommandError.self) { try fixture.file.read(other) }
        #expect(error?.description.contains("--state") == true)
        for (content, sentence) in [("{}", "damaged"), (#"{"format":2}"#, "damaged"), (#"{"format":1}"#, "another version")] {
            try Data(content.utf8).write(to: fixture.file.url)
            let error = #expect(throws: CommandError.self) { try fixture.file.read(fixture.copy) }
            #expect(error?.description.contains(sentence) == true)
        }
    }

    @Test func aRunContinuesOrBeginsAgain() {
        let (zone, type) = (CopyPart(zone: "Garden", recordType: nil), CopyPart(zone: "_defaultZone", recordType: "Post"))
        var state = CopyState(
            CopyState.Copy(command: "pull", container: "c", environment: "e", database: "d", iCloud: "a", tarn: "t"))
        state.beginRun()
        state[zone] = CopyState.Progress(position: "z1", isComplete: true)
        state[type] = CopyState.Progress(position: "t1")
        state.copied = 5
        // Interrupted: nothing begins again.
        state.beginRun()
        #expect(state[zone] == CopyState.Progress(position: "z1", isComplete: true))
        #expect(state.copied == 5)
        state[type].isComplete = true
        state.isRunning = false
        state.beginRun()
        #expect(state[zone] == CopyState.Progress(position: "z1"))
        #expect(state[type] == CopyState.Progress())
        #expect(state.copied == 0)
    }

    @Test func addressesAndTokensAreChecked() async {
        let common = ["--container", Self.container, "--session", "s"]
        let run = await CommandRun(["icloud", "sign-in", "--icloud", "http://cloud.example.org"] + common)
        #expect(run.status == 64)
        #expect(run.notes.contains("https://"), "\(run.notes)")
        let publicRun = await CommandRun(["icloud", "pull", "--database", "public", "--state", "x"] + common)
        #expect(publicRun.notes.contains("--type"), "\(publicRun.notes)")
    }
}
