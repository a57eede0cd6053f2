// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import EngineFixtures
import Testing

extension Record {
    /// A plant that refers to another.
    static func plant(_ name: String, _ action: RecordReference.Action, to target: String, zone: ZoneID? = nil) -> Record {
        .plant(name, ["bed": .reference(RecordReference(recordName: target, zoneID: zone, action: action))])
    }
}

@Suite struct ReferenceTests {
    @Test func aValidatedTargetMustBeThereAndStays() async throws {
        let bench = try await Bench.withGarden()
        let missing = try await bench.modify(.init(.create, .plant("s", .validate, to: "t")))
        #expect(missing.map(\.word) == ["VALIDATING_REFERENCE_ERROR"])
        let together = try await bench.modify(.init(.create, .plant("s", .validate, to: "t")), .init(.create, .plant("t")))
        #expect(together.map(\.word) == ["saved", "saved"], "in any order of one batch")
        #expect(try await bench.modify(.init(.forceDelete, .plant("t"))).map(\.word) == ["VALIDATING_REFERENCE_ERROR"])
        let moved = try await bench.modify(.init(.forceUpdate, .plant("s", .none, to: "t")), .init(.forceDelete, .plant("t")))
        #expect(moved.map(\.word) == ["saved", "deleted"], "the reference went in the same batch")
        try await bench.modify(.init(.create, .plant("t")), .init(.forceUpdate, .plant("s", .validate, to: "t")))
        #expect(
            try await bench.modify(.init(.forceDelete, .plant("t")), .init(.forceDelete, .plant("s"))).map(\.word) == [
                "deleted", "deleted",
            ])
    }

    @Test func aParentMustBeThereWhenARecordGetsIt() async throws {
        let bench = try await Bench.withGarden()
        var child = Record.plant("child")
        child.sharing.parent = "bed"
        #expect(try await bench.modify(.init(.create, child)).map(\.word) == ["VALIDATING_REFERENCE_ERROR"])
        #expect(try await bench.modify(.init(.create, child), .init(.create, .plant("bed"))).map(\.word) == ["saved", "saved"])
        #expect(try await bench.modify(.init(.forceDelete, .plant("bed"))).map(\.word) == ["deleted"], "it holds nothing")
        child.fields["name"] = Field(.string("Sage"))
        #expect(try await bench.modify(.init(.forceUpdate, child)).map(\.word) == ["saved"], "and was there")
    }

    @Test func aRejectionReachesOperationsThatDependOnIt() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("old")))
        let results = try await bench.modify(
            .init(.create, .plant("a", .validate, to: "b")), .init(.create, .plant("b", .validate, to: "old2")),
            .init(.create, .plant("free")), atomic: false)
        #expect(results.map(\.word) == ["VALIDATING_REFERENCE_ERROR", "VALIDATING_REFERENCE_ERROR", "saved"])
    }

    @Test func sourcesGoWithTheirTargetAndSoOn() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(
            .init(.create, .plant("root", ["n": .int64(1)])), .init(.create, .plant("a", .deleteSelf, to: "root")),
            .init(.create, .plant("b", .deleteSelf, to: "a")), .init(.create, .plant("c", .deleteSelf, to: "b")),
            .init(
                .create, .plant("c2", ["beds": .list([.reference(RecordReference(recordName: "b", action: .deleteSelf))], of: .reference)])),
            .init(.create, .plant("loop", .deleteSelf, to: "loop")), .init(.create, .plant("plain", .none, to: "root")))
        let token = try #require(try await bench.zoneChanges().changes?.syncToken)
        let results = try await bench.modify(.init(.forceDelete, .plant("root")))
        #expect(results.map(\.word) == ["deleted"], "the answer has one entry for each operation")
        #expect(try await bench.zoneChanges(since: token).picture == "-root -a -b -c -c2")
        #expect(try await bench.lookup("plain", "loop", "c").map(\.word) == ["saved", "saved", "NOT_FOUND"])
        #expect(try await bench.modify(.init(.forceDelete, .plant("loop"))).map(\.word) == ["deleted"])
        try await bench.modify(.init(.create, .plant("root")))
        #expect(try await bench.modify(.init(.forceDelete, .plant("root"))).map(\.word) == ["deleted"])
        #expect(try await bench.lookup("plain")[0].word == "saved")
    }

    @Test func aRecordThatWouldGoAndIsHeldKeepsAll() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(
            .init(.create, .plant("root")), .init(.create, .plant("leaf", .deleteSelf, to: "root")),
            .init(.create, .plant("holder", .validate, to: "leaf")))
        let refused = try await bench.modify(.init(.forceDelete, .plant("root")), .init(.create, .plant("x")), atomic: false)
        #expect(refused.map(\.word) == ["VALIDATING_REFERENCE_ERROR", "saved"])
        #expect(try await bench.lookup("root", "leaf").map(\.word) == ["saved", "saved"])
        let atomic = try await bench.modify(.init(.forceDelete, .plant("root")), .init(.create, .plant("y")))
        #expect(atomic.map(\.word) == ["VALIDATING_REFERENCE_ERROR", "ATOMIC_ERROR"])
        let all = try await bench.modify(.init(.forceDelete, .plant("root")), .init(.forceDelete, .plant("holder")))
        #expect(all.map(\.word) == ["deleted", "deleted"])
        #expect(try await bench.lookup("leaf")[0].word == "NOT_FOUND")
    }

    @Test func anAtomicBatchThatFailsDeletesNothing() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("root")), .init(.create, .plant("leaf", .deleteSelf, to: "root")))
        let results = try await bench.modify(.init(.forceDelete, .plant("root")), .init(.update, .plant("none", tag: "1")))
        #expect(results.map(\.word) == ["ATOMIC_ERROR", "NOT_FOUND"])
        #expect(try await bench.lookup("root", "leaf").map(\.word) == ["saved", "saved"])
    }

    /// The source is stored with the reference, or gets it by the save: it does not outlive the target. Rejected saves leave the record as
    /// it was stored, and that is deleted with its target.
    @Test(arguments: [false, true], [false, true])
    func aSourceIsNotSavedWhileItsTargetIsDeleted(deletionComesFirst: Bool, isStored: Bool) async throws {
        let bench = try await Bench.withGarden()
        let source: Record = isStored ? .plant("s", .deleteSelf, to: "t") : .plant("s")
        try await bench.modify(.init(.create, .plant("t")), .init(.create, source))
        var changed = Record.plant("s", .deleteSelf, to: "t")
        changed.fields["name"] = Field(.string("Sage"))
        let save = RecordOperation(.forceUpdate, changed)
        let deletion = RecordOperation(.forceDelete, .plant("t"))
        let operations = deletionComesFirst ? [deletion, save] : [save, deletion]

        let whole = try await bench.modify(operations)
        let words = ["VALIDATING_REFERENCE_ERROR", "ATOMIC_ERROR"]
        #expect(whole.map(\.word) == (deletionComesFirst ? words.reversed() : words))
        #expect(try await bench.lookup("s", "t").map(\.word) == ["saved", "saved"])

        let results = try await bench.modify(operations, atomic: false)
        let separate = ["VALIDATING_REFERENCE_ERROR", "deleted"]
        #expect(results.map(\.word) == (deletionComesFirst ? separate.reversed() : separate))
        #expect(try await bench.lookup("s", "t").map(\.word) == [isStored ? "NOT_FOUND" : "saved", "NOT_FOUND"])
    }

    /// The request deletes the target with the record that the target refers to. Nothing stored refers to the target.
    @Test(arguments: [false, true], [false, true])
    func aReferenceToARecordOfACascadeIsNotSaved(deletionComesFirst: Bool, isStored: Bool) async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("root")), .init(.create, .plant("leaf", .deleteSelf, to: "root")))
        if isStored { try await bench.modify(.init(.create, .plant("s"))) }
        let save = RecordOperation(.forceUpdate, .plant("s", .validate, to: "leaf"))
        let deletion = RecordOperation(.forceDelete, .plant("root"))
        let results = try await bench.modify(deletionComesFirst ? [deletion, save] : [save, deletion], atomic: false)
        let words = ["VALIDATING_REFERENCE_ERROR", "deleted"]
        #expect(results.map(\.word) == (deletionComesFirst ? words.reversed() : words))
        #expect(try await bench.lookup("root", "leaf", "s").map(\.word) == ["NOT_FOUND", "NOT_FOUND", isStored ? "saved" : "NOT_FOUND"])
        // No reference keeps a later record of the name.
        try await bench.modify(.init(.create, .plant("leaf")))
        #expect(try await bench.modify(.init(.forceDelete, .plant("leaf"))).map(\.word) == ["deleted"])
    }

    /// Each save relies on the one before it, so all are rejected in one round, however many there are.
    @Test func aChainOfSavedSourcesIsDeletedWithItsRoot() async throws {
        let bench = try await Bench.withGarden()
        let links = (1...40).map { Record.plant("s\($0)", .deleteSelf, to: "s\($0 - 1)") }
        let creations = [RecordOperation(.create, .plant("s0"))] + links.map { RecordOperation(.create, $0) }
        try await bench.modify(creations)
        let operations = links.map { RecordOperation(.forceUpdate, $0) } + [RecordOperation(.forceDelete, .plant("s0"))]
        let results = try await bench.modify(operations, atomic: false)
        #expect(Set(results.prefix(40).map(\.word)) == ["VALIDATING_REFERENCE_ERROR"])
        #expect(results.last?.word == "deleted")
        #expect(try await bench.lookup("s1", "s40").map(\.word) == ["NOT_FOUND", "NOT_FOUND"])
    }

    @Test func aSourceWhoseReferenceIsRemovedOutlivesItsTarget() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("t")), .init(.create, .plant("s", .deleteSelf, to: "t")))
        let results = try await bench.modify(.init(.forceReplace, .plant("s")), .init(.forceDelete, .plant("t")))
        #expect(results.map(\.word) == ["saved", "deleted"])
        #expect(try await bench.lookup("s")[0].word == "saved")
    }

    @Test func countsHaveLimits() async throws {
        var limits = Limits()
        #expect(limits.deletingReferencesPerRecord == 750)
        (limits.deletingReferencesPerRecord, limits.recordsTakenAlong) = (3, 4)
        let bench = try await Bench.withGarden(limits: limits)
        try await bench.modify(.init(.create, .plant("t")))
        let results = try await bench.modify((0..<4).map { .init(.create, .plant("s\($0)", .deleteSelf, to: "t")) }, atomic: false)
        #expect(results.map(\.word) == ["saved", "saved", "saved", "BAD_REQUEST"])
        #expect(results[3].error?.nativeCode == .limitExceeded)
        #expect(try await bench.modify(.init(.create, .plant("s4", .deleteSelf, to: "t")))[0].error?.nativeCode == .limitExceeded)
        #expect(try await bench.modify(.init(.forceUpdate, .plant("s0", ["n": .int64(1)])))[0].word == "saved")
        try await bench.modify(.init(.create, .plant("u", .deleteSelf, to: "s0")))
        #expect(try await bench.modify(.init(.forceDelete, .plant("t")))[0].error?.nativeCode == .limitExceeded)
        #expect(try await bench.modify(.init(.forceDelete, .plant("s0")))[0].word == "deleted")
        #expect(try await bench.modify(.init(.forceDelete, .plant("t")))[0].word == "deleted")
    }

    @Test func anActionStaysInItsZone() async throws {
        let bench = try await Bench.withGarden()
        let other = ZoneID(zoneName: "Yard")
        try await bench.makeZone(other)
        try await bench.modify(.init(.create, .plant("t")), in: other)
        let results = try await bench.modify(
            .init(.create, .plant("a", .validate, to: "t", zone: other)), .init(.create, .plant("b", .none, to: "t", zone: other)),
            .init(.create, .plant("c", .deleteSelf, to: "b", zone: Bench.garden)), atomic: false)
        #expect(results.map(\.word) == ["BAD_REQUEST", "saved", "saved"])
        try await bench.deleteZone(Bench.garden)
        try await bench.makeZone(Bench.garden)
        try await bench.modify(.init(.create, .plant("b")))
        #expect(try await bench.modify(.init(.forceDelete, .plant("b"))).map(\.word) == ["deleted"])
    }

    /// Random batches, compared with a plain model of references.
    @Test(arguments: 0..<6 as Range<UInt64>)
    func thePromisesHoldAfterRandomBatches(_ seed: UInt64) async throws {
        let bench = try await Bench.withGarden()
        var random = SeededGenerator(seed: seed)
        for _ in 0..<40 {
            let names = (0..<12).map { "r\($0)" }.shuffled(using: &random).prefix(Int.random(in: 1...4, using: &random))
            let operations = names.map { name -> RecordOperation in
                switch Int.random(in: 0...4, using: &random) {
                case 0, 1: return .init(.forceDelete, .plant(name))
                case 2: return .init(.forceReplace, .plant(name))
                default:
                    let action: RecordReference.Action = Bool.random(using: &random) ? .validate : .deleteSelf
                    return .init(.forceReplace, .plant(name, action, to: "r\(Int.random(in: 0..<12, using: &random))"))
                }
            }
            let before = try await records(of: bench)
            let results = try await bench.modify(operations, atomic: Bool.random(using: &random))
            let after = try await records(of: bench)
            for record in after.values {
                for reference in references(of: record) where reference.action == .validate {
                    #expect(after[reference.recordName] != nil, "a validated target is gone")
                }
            }
            let deleted = zip(operations, results).filter {
                $0.0.kind == .forceDelete && $0.1.error == nil && before[$0.0.record.recordName] != nil
            }.map(\.0.record.recordName)
            let saved = Set(zip(operations, results).filter { $0.0.kind != .forceDelete && $0.1.error == nil }.map(\.0.record.recordName))
            var gone = Set(deleted)
            var grows = true
            while grows {
                let more = before.filter { name, record in
                    !gone.contains(name) && !saved.contains(name)
                        && references(of: record).contains { $0.action == .deleteSelf && gone.contains($0.recordName) }
                }
                grows = !more.isEmpty
                gone.formUnion(more.keys)
            }
            #expect(Set(before.keys).union(saved).subtracting(gone) == Set(after.keys))
            for record in after.values {
                for reference in references(of: record) where reference.action == .deleteSelf {
                    #expect(!gone.contains(reference.recordName), "a source outlives its target")
                }
            }
        }
    }

    private func records(of bench: Bench) async throws -> [String: Record] {
        let records = try await bench.zoneChanges().changes?.records ?? []
        return Dictionary(records.map { ($0.recordName, $0) }, uniquingKeysWith: { first, _ in first })
    }

    private func references(of record: Record) -> [RecordReference] {
        record.fields.values.compactMap { if case .reference(let reference) = $0.value { reference } else { nil } }
    }
}
