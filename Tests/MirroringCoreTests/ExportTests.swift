// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing
import ValueSimulation

@Suite struct ExportTests {
    private func operations(_ batch: BatchPlan) -> [String] { batch.items.map { "\($0.operation) \($0.recordName)" } }

    @Test func recordNamesAreAssignedOnceAndReusedByARetry() {
        var server = ServerModel()
        var replica = Replica("A")
        let post = replica.insert("Post", ["title": .string("once")])
        replica.setLinked(true, post, "tags", replica.insert("Tag"))
        replica.scan()
        let first = replica.planBatch()
        // Everything arrives, no answer comes back, the device starts again.
        _ = replica.send(first, to: &server)
        replica.scan()
        #expect(operations(replica.planBatch()) == operations(first))
        #expect(first.items.count == 3)
        replica.sync(&server)
        #expect(server.creations == 3)
        #expect(replica.pendingRecords.isEmpty)
        #expect(replica.pendingLinks.isEmpty)
        #expect(replica.conflicts.isEmpty)
    }

    @Test func anObjectInsertedAndDeletedBetweenExportsIsNotSent() {
        var replica = Replica("A")
        let post = replica.insert("Post")
        replica.set("title", of: post, to: .string("t"))
        replica.delete(post)
        replica.scan()
        #expect(replica.planBatch().items.isEmpty)
        #expect(replica.records.isEmpty)
    }

    @Test func aDeletionLogsDeferredReferencesOfTheObject() {
        var server = ServerModel()
        var maker = Replica("A"), deleter = Replica("B")
        let attachment = maker.insert("Attachment")
        maker.set("imageData", of: attachment, to: .reference(maker.insert("ImageData")))
        maker.scan()
        // The image is still to come.
        let first = maker.planBatch(itemsMax: 1)
        let (outcomes, assets) = maker.send(first, to: &server)
        _ = maker.settle(first, outcomes, assets)
        deleter.importAll(from: server)
        for key in deleter.keys(of: "Attachment") { deleter.delete(key) }
        deleter.sync(&server)
        maker.sync(&server)
        deleter.sync(&server)
        #expect(deleter.conflicts.map(\.property) == ["imageData"])
        #expect(deleter.conflicts.map(\.winner) == [.localDeletion])
        #expect(deleter.conflicts.map(\.losing) == server.records.keys.map { .string($0) })
        #expect(deleter.parked.isEmpty)
    }

    @Test func aDeletionCascadesToJoinRecords() {
        var server = ServerModel()
        var replica = Replica("A")
        let post = replica.insert("Post"), tag = replica.insert("Tag")
        replica.setLinked(true, post, "tags", tag)
        replica.setLinked(true, post, "related", post)
        replica.sync(&server)
        replica.delete(post)
        replica.scan()
        #expect(operations(replica.planBatch()).allSatisfy { $0.hasPrefix("forceDelete ") || $0.hasPrefix("delete ") })
        replica.sync(&server)
        #expect(server.records.count == 1)
        #expect(server.links.isEmpty)
        #expect(replica.links.isEmpty)
    }

    @Test func changesSavedWhileABatchIsInFlightAreSentByTheNextBatch() {
        var server = ServerModel()
        var replica = Replica("A")
        let post = replica.insert("Post", ["title": .string("one")])
        replica.scan()
        let batch = replica.planBatch()
        replica.set("title", of: post, to: .string("two"))
        replica.scan()
        let (outcomes, assets) = replica.send(batch, to: &server)
        _ = replica.settle(batch, outcomes, assets)
        #expect(replica.planBatch().items.map(\.record.fields) == [["CD_title": Field(.string("two"))]])
    }

    @Test func batchesObeyTheRequestLimits() {
        var replica = Replica("A")
        var limits = Limits()
        limits.operationsPerRequest = 3
        limits.requestRecordBytes = 1000
        for _ in 0..<4 { replica.insert("Post", ["title": .string(String(repeating: "x", count: 350))]) }
        replica.scan()
        #expect(replica.planBatch(limits: limits).items.count == 2)
        #expect(replica.planBatch(itemsMax: 1, limits: limits).items.count == 1)
        limits.requestRecordBytes = 10
        #expect(replica.planBatch(limits: limits).items.count == 1, "one item goes however long it is")
        limits.requestRecordBytes = 1_000_000
        #expect(replica.planBatch(limits: limits).items.count == 3)
        #expect(replica.planBatch(itemsMax: 5).items.count == 4)
    }

    @Test func permanentlyRejectedChangesAreNotRetriedUntilTheyChange() {
        var server = ServerModel()
        var replica = Replica("A")
        let post = replica.insert("Post", ["title": .string("bad")])
        replica.insert("Tag")
        replica.scan()
        let batch = replica.planBatch()
        var outcomes = replica.send(batch, to: &server).outcomes
        outcomes["A1"] = .refused(CloudFailure(.invalidArguments, "wrong type"))
        let verdict = replica.settle(batch, outcomes, [:])
        #expect(verdict.accepted == 1)
        #expect(verdict.failed == 1)
        #expect(replica.records["A1"]?.failure == "wrong type")
        #expect(replica.planBatch().items.isEmpty)
        replica.set("title", of: post, to: .string("good"))
        replica.scan()
        #expect(operations(replica.planBatch()) == ["create A1"])
    }

    @Test func eachErrorOfAnItemHasItsOutcome() {
        let cases: [(AppErrorCode, BatchVerdict)] = [
            (.serverRecordChanged, verdict { $0.needImport = 1 }), (.batchRequestFailed, verdict { $0.postponed = 1 }),
            (.zoneBusy, verdict { $0.postponed = 1 }),
            (.limitExceeded, verdict { ($0.postponed, $0.isTooLarge) = (1, true) }),
            (.quotaExceeded, verdict { $0.postponed = 1 }), (.zoneNotFound, verdict { $0.postponed = 1 }),
            (.permissionFailure, verdict { $0.failed = 1 }),
        ]
        for (code, expected) in cases {
            var server = ServerModel()
            var replica = Replica("A")
            replica.insert("Post")
            replica.insert("Tag")
            replica.scan()
            let batch = replica.planBatch()
            var (outcomes, _) = replica.send(batch, to: &server)
            outcomes["A1"] = .refused(CloudFailure(code, "no"))
            var verdict = replica.settle(batch, outcomes, [:])
            #expect((verdict.requestFailure?.code == code) == [.quotaExceeded, .zoneNotFound].contains(code))
            (verdict.failure, verdict.postponement, verdict.requestFailure) = (nil, nil, nil)
            #expect(verdict == expected, "\(code)")
        }
    }

    private func verdict(_ change: (inout BatchVerdict) -> Void) -> BatchVerdict {
        var verdict = BatchVerdict()
        verdict.accepted = 1
        change(&verdict)
        return verdict
    }

    @Test func aRecordOverTheSizeLimitIsRejectedPermanently() {
        var replica = Replica("A")
        replica.insert("Post")
        replica.scan()
        let verdict = replica.settle(replica.planBatch(), ["A1": .refused(CloudFailure(.limitExceeded, "too large"))], [:])
        #expect(verdict.failed == 1)
        #expect(!verdict.isTooLarge)
        #expect(replica.pendingRecords.isEmpty)
    }

    /// The app was updated between a request and its response: the row lacks a value that the request had for another device's sake.
    @Test func aFieldOfALaterVersionIsNoPartOfTheMergeBase() throws {
        func mapping(_ attributes: String...) throws -> RecordMapping {
            let post = Entity(name: "Post", attributes: attributes.map { Attribute(name: $0, type: .string) })
            return RecordMapping(model: try ResolvedModel(Model(entities: [post])))
        }
        let before = try mapping("title"), after = try mapping("mood", "title")
        let key = RowKey(store: 0, entity: 0, primaryKey: 1), mood = Field(.string("calm"))
        var state = RecordState(recordName: "post-1", key: key, stage: .needsUpload, mark: 1)
        state.ancestor.unapplied = ["CD_mood": mood]
        var loaded = BatchPlan.Loaded()
        loaded.rows[key] = Row(key: key, version: 1, values: [.string("Trip")])
        let items = BatchPlan.plan(records: [state], links: [], loaded: loaded, mapping: before).items
        let sent = try #require(items.first?.record)
        #expect(sent.fields["CD_mood"] == mood)
        var saved = sent
        saved.recordChangeTag = "2"
        let settled = ExportSettlement.settle(
            items, outcomes: ["post-1": .saved(saved)], generation: 0, records: ["post-1": state], links: [:], mapping: after)
        let base = try #require(settled.changes.records.first?.ancestor)
        #expect(base.fields["CD_title"] == Field(.string("Trip")))
        #expect(base.fields["CD_mood"] == nil)
        #expect(base.unapplied == ["CD_mood": mood])
        #expect(settled.verdict.leavesUnapplied)
        let ofOneVersion = ExportSettlement.settle(
            items, outcomes: ["post-1": .saved(saved)], generation: 0, records: ["post-1": state], links: [:], mapping: before)
        #expect(!ofOneVersion.verdict.leavesUnapplied)
    }

    /// An item that a failing request was moved behind others for has the number of a transaction to come. The change of that transaction
    /// would count as sent with the item in flight.
    @Test(arguments: [LocalChange.Kind.update, .delete]) func aChangeHasALaterMarkThanTheItemInFlight(kind: LocalChange.Kind) throws {
        let post = Entity(name: "Post", attributes: [Attribute(name: "title", type: .string)])
        let mapping = RecordMapping(model: try ResolvedModel(Model(entities: [post])))
        let key = RowKey(store: 0, entity: 0, primaryKey: 1)
        let history = [
            LocalTransaction(number: 7, author: "app", changes: [LocalChange(key: key, kind: kind, changedProperties: ["title"])])
        ]
        let scan = ExportScan(history, mapping: mapping)
        func mark(after known: Int64) throws -> Int64 {
            var loaded = ExportScan.Loaded()
            loaded.records = [key: RecordState(recordName: "post-1", key: key, stage: .needsUpload, mark: known)]
            loaded.existing = kind == .delete ? [] : [key]
            return try #require(scan.plan(loaded, names: NewRecordNames([])).records.first).mark
        }
        #expect(try mark(after: 5) == 7)
        #expect(try mark(after: 7) == 8)
        #expect(try mark(after: 9) == 10)
    }
}
