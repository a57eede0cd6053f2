// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import EngineFixtures
import Synchronization
import Testing

/// Types that are removed from development, with references to their records. A slice has 25 records.
@Suite struct SchemaRemovalTests {
    private static let count = 40

    private func service(_ bench: Bench, _ engine: Engine? = nil, over storage: (any EngineStorage)? = nil) -> SchemaService {
        SchemaService(
            containerIdentifier: "iCloud.org.example.notes", engine: engine ?? bench.engine, storage: storage ?? bench.store,
            surroundings: CloudService.Surroundings(now: { Bench.start + 9 }, randomBytes: { [UInt8](repeating: 7, count: $0) }))
    }

    private static func reference(_ target: String, _ action: RecordReference.Action) -> FieldValue {
        .reference(RecordReference(recordName: target, action: action))
    }

    private static func bed(_ index: Int) -> RecordOperation {
        RecordOperation(.create, Record(recordName: "bed\(index + 100)", recordType: "Bed"))
    }

    private static func note(_ name: String, _ fields: [String: FieldValue]) -> RecordOperation {
        RecordOperation(.create, Record(recordName: name, recordType: "Note", fields: fields.mapValues { Field($0) }))
    }

    private func bench(limits: Limits = Limits()) async throws -> Bench {
        let bench = try await Bench.withGarden(limits: limits)
        let results = try await bench.modify((0..<Self.count).map(Self.bed))
        #expect(results.filter { $0.word != "saved" } == [])
        return bench
    }

    private func names(_ bench: Bench) async throws -> [String] {
        try await bench.read { _, view, _ in try view.records(after: nil, limit: 500).map(\.record.recordName) }
    }

    private static let held =
        "record type 'Bed' has records and cannot be removed: field 'bed' of type 'Note' refers to them by VALIDATE references: "
        + "remove the field as well, or delete these values first"

    /// The reference is to a record of the second slice: no record of the first one is deleted.
    @Test func aTypeStaysWholeIfRecordsOfItAreHeld() async throws {
        let bench = try await bench()
        let schemas = service(bench)
        #expect(try await bench.modify(Self.note("n", ["bed": Self.reference("bed139", .validate)]))[0].word == "saved")
        let before = try await schemas.export(.development)
        var smaller = before
        smaller.types["Bed"] = nil

        var refusals: [[String]] = []
        do { _ = try await schemas.validate(smaller) } catch let refused as SchemaRefused { refusals.append(refused.reasons) }
        do { _ = try await schemas.removals(by: smaller) } catch let refused as SchemaRefused { refusals.append(refused.reasons) }
        do { _ = try await schemas.importSchema(smaller) } catch let refused as SchemaRefused { refusals.append(refused.reasons) }
        do { try await schemas.remove(nil, ofType: "Bed") } catch let refused as SchemaRefused { refusals.append(refused.reasons) }
        #expect(refusals == [[Self.held], [Self.held], [Self.held], [Self.held]])
        #expect(try await names(bench).count == Self.count + 1)
        #expect(try await schemas.export(.development) == before)

        #expect(try await bench.modify(.init(.forceDelete, Record(recordName: "n")))[0].word == "deleted")
        try await schemas.remove(nil, ofType: "Bed")
        #expect(try await names(bench) == [])
    }

    @Test func aRecordThatIsDeletedWithThoseOfTheTypeMayBeHeldToo() async throws {
        let bench = try await bench()
        let schemas = service(bench)
        try await bench.modify(
            .init(.create, .plant("p", .deleteSelf, to: "bed139")), Self.note("n", ["plant": Self.reference("p", .validate)]))
        let refused = await #expect(throws: SchemaRefused.self) { try await schemas.remove(nil, ofType: "Bed") }
        #expect(
            refused?.reasons == [
                "record type 'Bed' has records and cannot be removed: field 'plant' of type 'Note' refers to records of type 'Plant', "
                    + "which are deleted with them by DELETE_SELF references, by VALIDATE references: remove the field as well, or "
                    + "delete these values first"
            ])
        #expect(try await names(bench).count == Self.count + 2)
    }

    /// The records that refer to others are in a later slice than those.
    @Test func recordsThatAreRemovedAsWellHoldNothing() async throws {
        let bench = try await bench()
        let schemas = service(bench)
        let notes = (0..<Self.count).map { Self.note("note\($0 + 100)", ["bed": Self.reference("bed\($0 + 100)", .validate)]) }
        // Deleted with a bed of the last slice, and refers to one of the first.
        let plant = Record(
            recordName: "plant", recordType: "Plant",
            fields: ["bed": Field(Self.reference("bed139", .deleteSelf)), "seed": Field(Self.reference("bed100", .validate))])
        #expect(try await bench.modify(notes + [RecordOperation(.create, plant)]).filter { $0.word != "saved" } == [])
        var smaller = try await schemas.export(.development)
        (smaller.types["Bed"], smaller.types["Note"]) = (nil, nil)
        _ = try await schemas.importSchema(smaller)
        #expect(try await names(bench) == [])
        #expect(try await schemas.export(.development).types.keys.sorted() == ["Plant", "Users"])
    }

    /// Records on both sides of the beds, in the order of their names: their removed values neither hold a bed nor delete a record with it.
    @Test(arguments: [RecordReference.Action.validate, .deleteSelf])
    func valuesThatAreRemovedAsWellHaveNoEffect(_ action: RecordReference.Action) async throws {
        let bench = try await bench()
        let schemas = service(bench)
        let fields = ["bed": Self.reference("bed120", action), "text": .string("Sage")]
        #expect(try await bench.modify(Self.note("a", fields), Self.note("z", fields)).map(\.word) == ["saved", "saved"])
        var smaller = try await schemas.export(.development)
        smaller.types["Bed"] = nil
        smaller.types["Note"]?.schema.fields["bed"] = nil
        _ = try await schemas.importSchema(smaller)
        #expect(try await names(bench) == ["a", "z"])
        #expect(
            try await bench.lookup("a", "z").map { $0.record?.fields } == [
                ["text": Field(.string("Sage"))], ["text": Field(.string("Sage"))],
            ])
    }

    /// The limit counts the cascades of all deletions of a request. Those of a slice have more together.
    @Test func cascadesOfASliceMayBeLargeTogether() async throws {
        var limits = Limits()
        limits.recordsTakenAlong = 10
        let bench = try await bench(limits: limits)
        for index in 100..<110 {
            let plants = (0..<8).map { RecordOperation(.create, .plant("p\(index)-\($0)", .deleteSelf, to: "bed\(index)")) }
            #expect(try await bench.modify(plants).filter { $0.word != "saved" } == [])
        }
        try await service(bench).remove(nil, ofType: "Bed")
        #expect(try await names(bench) == [])
    }

    @Test func aTypeStaysWholeIfACascadeIsTooLarge() async throws {
        var limits = Limits()
        limits.recordsTakenAlong = 10
        let bench = try await bench(limits: limits)
        let plants = (0..<11).map { RecordOperation(.create, .plant("p\($0)", .deleteSelf, to: "bed139")) }
        #expect(try await bench.modify(plants).filter { $0.word != "saved" } == [])
        let refused = await #expect(throws: SchemaRefused.self) { try await service(bench).remove(nil, ofType: "Bed") }
        #expect(
            refused?.reasons == [
                "more than 10 records would be deleted with record 'bed139' of type 'Bed' by their DELETE_SELF references: "
                    + "delete some of them first"
            ])
        #expect(try await names(bench).count == Self.count + 11)
    }

    /// The cascade of each record of the chain is a part of the first one's, and need not be read again.
    @Test func aCascadeThatIsTooLargeIsReportedForItsFirstRecord() async throws {
        var limits = Limits()
        limits.recordsTakenAlong = 10
        let bench = try await Bench.withGarden(limits: limits)
        let chain = (100..<112).map { index -> RecordOperation in
            var bed = Record(recordName: "bed\(index)", recordType: "Bed")
            if index > 100 { bed.fields["outer"] = Field(Self.reference("bed\(index - 1)", .deleteSelf)) }
            return RecordOperation(.create, bed)
        }
        #expect(try await bench.modify(chain).filter { $0.word != "saved" } == [])
        let refused = await #expect(throws: SchemaRefused.self) { try await service(bench).remove(nil, ofType: "Bed") }
        #expect(
            refused?.reasons == [
                "more than 10 records would be deleted with record 'bed100' of type 'Bed' by their DELETE_SELF references: "
                    + "delete some of them first"
            ])
    }

    /// The removed values are those of more records than a deletion may delete. Of the others, it may delete nine and the bed.
    @Test func valuesThatAreRemovedAsWellDoNotEnlargeACascade() async throws {
        var limits = Limits()
        limits.recordsTakenAlong = 10
        let bench = try await bench(limits: limits)
        let schemas = service(bench)
        let notes = (0..<12).map { Self.note("note\($0)", ["bed": Self.reference("bed139", .deleteSelf)]) }
        let plants = (0..<10).map { RecordOperation(.create, .plant("p\($0)", .deleteSelf, to: "bed139")) }
        #expect(try await bench.modify(notes + plants).filter { $0.word != "saved" } == [])
        var smaller = try await schemas.export(.development)
        smaller.types["Bed"] = nil
        smaller.types["Note"]?.schema.fields["bed"] = nil
        let schema = smaller

        let refused = await #expect(throws: SchemaRefused.self) { _ = try await schemas.importSchema(schema) }
        #expect(refused?.reasons.count == 1)
        #expect(try await names(bench).count == Self.count + notes.count + plants.count)
        #expect(try await bench.modify(.init(.forceDelete, Record(recordName: "p0")))[0].word == "deleted")
        _ = try await schemas.importSchema(schema)
        #expect(Set(try await names(bench)) == Set((0..<12).map { "note\($0)" }))
    }

    /// The removal ends at a record of the second slice, since its name is longer than the limit of another server. The type stays, so that
    /// the same removal goes on.
    @Test func anInterruptedRemovalIsContinuedByTheSameOne() async throws {
        let bench = try await bench()
        let long = Record(recordName: "bed199-and-more", recordType: "Bed")
        #expect(try await bench.modify(.init(.create, long))[0].word == "saved")
        var limits = Limits()
        limits.recordNameCharacters = 10
        let strict = Engine(limits: limits, sealer: bench.store.sealer, schemaByUse: [.development])
        let smaller = ContainerSchema()

        let refused = await #expect(throws: SchemaRefused.self) { _ = try await service(bench, strict).importSchema(smaller) }
        #expect(
            refused?.reasons == [
                "record 'bed199-and-more' of type 'Bed' cannot be changed: a record name has 1 to 10 ASCII characters other than U+0000"
            ])
        #expect(try await service(bench).export(.development).types["Bed"] != nil)
        _ = try await service(bench).importSchema(smaller)
        #expect(try await names(bench) == [])
        #expect(try await service(bench).export(.development).types["Bed"] == nil)
    }

    /// The references of removed fields are in more than one part of those that are read together.
    @Test func aCascadeThatIsTooLargeIsFoundBehindReferencesOfRemovedFields() async throws {
        var limits = Limits()
        limits.recordsTakenAlong = 10
        let bench = try await bench(limits: limits)
        let schemas = service(bench)
        for part in 0..<3 {
            let notes = (0..<150).map { Self.note("a\(1000 * part + $0)", ["bed": Self.reference("bed139", .deleteSelf)]) }
            #expect(try await bench.modify(notes).filter { $0.word != "saved" } == [])
        }
        let plants = (0..<10).map { RecordOperation(.create, .plant("p\($0)", .deleteSelf, to: "bed139")) }
        #expect(try await bench.modify(plants).filter { $0.word != "saved" } == [])
        var smaller = try await schemas.export(.development)
        smaller.types["Bed"] = nil
        smaller.types["Note"]?.schema.fields["bed"] = nil
        let schema = smaller
        let refused = await #expect(throws: SchemaRefused.self) { _ = try await schemas.validate(schema) }
        #expect(refused?.reasons.first?.hasPrefix("more than 10 records would be deleted with record 'bed139'") == true)
        #expect(try await bench.modify(.init(.forceDelete, Record(recordName: "p0")))[0].word == "deleted")
        _ = try await schemas.validate(schema)
    }

    @Test func theReferencesThatARemovalReadsHaveALimit() async throws {
        var limits = Limits()
        limits.recordsTakenAlong = 10
        limits.referencesPerRequest = 20
        let bench = try await bench(limits: limits)
        let schemas = service(bench)
        for part in 0..<3 {
            let notes = (0..<10).map { Self.note("note\(10 * part + $0)", ["bed": Self.reference("bed139", .deleteSelf)]) }
            #expect(try await bench.modify(notes).filter { $0.word != "saved" } == [])
        }
        var withoutField = try await schemas.export(.development)
        withoutField.types["Note"]?.schema.fields["bed"] = nil
        var smaller = withoutField
        smaller.types["Bed"] = nil
        let schema = smaller
        let refused = await #expect(throws: SchemaRefused.self) { _ = try await schemas.importSchema(schema) }
        #expect(
            refused?.reasons == [
                "more than 20 DELETE_SELF references lead to record 'bed139', those of removed fields included: remove the fields first, by "
                    + "an import of their own"
            ])
        _ = try await schemas.importSchema(withoutField)
        _ = try await schemas.importSchema(schema)
        #expect(try await names(bench).count == 30)
    }

    // MARK: Records that apps save during a removal

    private static let bedType = RemovedParts([.removedType("Bed")])

    /// - Returns: The reasons found in records that were saved after a check of all records.
    private func laterReasons(
        _ bench: Bench, _ parts: RemovedParts = Self.bedType, saving operations: RecordOperation...
    ) async throws -> Set<String> {
        let checked = try await bench.read { engine, view, _ in
            var reasons: Set<String> = []
            _ = try engine.removalObstacles.find(to: parts, after: nil, in: view, &reasons)
            guard reasons.isEmpty else { throw SchemaRefused(reasons: reasons.sorted()) }
            return try CheckedChanges(allOf: view)
        }
        #expect(try await bench.modify(operations).filter { $0.error != nil } == [])
        return try await bench.read { engine, view, _ in
            var reasons: Set<String> = []
            var changes = checked
            while try !engine.laterObstacles.find(to: parts, &changes, in: view, &reasons) {}
            return reasons
        }
    }

    @Test func aReferenceThatIsSavedAfterTheCheckHoldsARecord() async throws {
        let bench = try await bench()
        let reasons = try await laterReasons(bench, saving: Self.note("n", ["bed": Self.reference("bed139", .validate)]))
        #expect(reasons == [Self.held])
    }

    @Test func recordsThatAreSavedAfterTheCheckAndRemovedHoldNothing() async throws {
        let bench = try await bench()
        var plant = Record(recordName: "plant", recordType: "Plant")
        plant.fields = ["bed": Field(Self.reference("bed101", .deleteSelf)), "seed": Field(Self.reference("bed139", .validate))]
        let parts = RemovedParts([
            .removedType("Bed"), .removedField(type: "Note", field: "bed", FieldSchema(type: "REFERENCE", isEncrypted: false)),
        ])
        let reasons = try await laterReasons(
            bench, parts, saving: RecordOperation(.create, plant), Self.note("n", ["bed": Self.reference("bed139", .validate)]))
        #expect(reasons == [])
    }

    /// The note and its reference are older than the check.
    @Test func aRecordThatBecomesPartOfACascadeAfterTheCheckIsHeld() async throws {
        let bench = try await bench()
        try await bench.modify(.init(.create, Record(recordName: "p", recordType: "Plant")))
        try await bench.modify(Self.note("n", ["plant": Self.reference("p", .validate)]))
        let plant = Record(
            recordName: "p", recordType: "Plant", fields: ["bed": Field(Self.reference("bed139", .deleteSelf))])
        let reasons = try await laterReasons(bench, saving: RecordOperation(.forceUpdate, plant))
        #expect(reasons.count == 1)
        #expect(reasons.first?.contains("field 'plant' of type 'Note' refers to records of type 'Plant'") == true)
    }

    /// The leaf would have been deleted with the plant, and with it its reference to the bed.
    @Test func aRecordThatIsNoLongerPartOfACascadeAfterTheCheckHoldsItsTargets() async throws {
        let bench = try await bench()
        try await bench.modify(.init(.create, .plant("p", .deleteSelf, to: "bed101")))
        let leaf = Record(
            recordName: "leaf", recordType: "Leaf",
            fields: ["plant": Field(Self.reference("p", .deleteSelf)), "bed": Field(Self.reference("bed139", .validate))])
        try await bench.modify(.init(.create, leaf))
        let reasons = try await laterReasons(
            bench, saving: RecordOperation(.forceReplace, Record(recordName: "p", recordType: "Plant")))
        #expect(reasons.count == 1)
        #expect(reasons.first?.contains("field 'bed' of type 'Leaf' refers to them") == true)
    }

    @Test func aRecordWithALargeCascadeThatIsSavedAfterTheCheckEndsTheRemoval() async throws {
        var limits = Limits()
        limits.recordsTakenAlong = 10
        let bench = try await bench(limits: limits)
        let album = Record(recordName: "album", recordType: "Album")
        try await bench.modify(.init(.create, album))
        try await bench.modify((0..<12).map { Self.note("note\($0)", ["bed": Self.reference("album", .deleteSelf)]) })
        let reasons = try await laterReasons(bench, saving: RecordOperation(.forceUpdate, album))
        #expect(
            reasons == ["record 'album' of type 'Album', to which very many records refer, was changed during the removal: try it again"])
    }

    /// More records than a unit looks at.
    @Test func allRecordsThatAreSavedAfterTheCheckAreLookedAt() async throws {
        let bench = try await bench()
        let checked = try await bench.read { _, view, _ in try CheckedChanges(allOf: view) }
        let trees = (0..<60).map { RecordOperation(.create, Record(recordName: "tree\($0)", recordType: "Tree")) }
        #expect(try await bench.modify(trees + [Self.note("n", ["bed": Self.reference("bed139", .validate)])]).count == 61)
        let (isCurrent, reasons) = try await bench.read { engine, view, _ in
            var (changes, reasons) = (checked, Set<String>())
            return (try engine.laterObstacles.find(to: Self.bedType, &changes, in: view, &reasons), reasons)
        }
        #expect(!isCurrent)
        #expect(reasons == [])
        let all = try await bench.read { engine, view, _ in
            var (changes, reasons) = (checked, Set<String>())
            while try !engine.laterObstacles.find(to: Self.bedType, &changes, in: view, &reasons) {}
            return reasons
        }
        #expect(all == [Self.held])
    }

    /// The check of all records is over; no record is deleted.
    @Test func aReferenceThatAnAppSavesDuringARemovalEndsIt() async throws {
        let bench = try await bench()
        let storage = InterruptedStorage(bench.store, before: { _ in true }) {
            try await bench.modify(Self.note("n", ["bed": Self.reference("bed139", .validate)]))
        }
        let schemas = service(bench, over: storage)
        let refused = await #expect(throws: SchemaRefused.self) { try await schemas.remove(nil, ofType: "Bed") }
        #expect(refused?.reasons == [Self.held])
        #expect(try await names(bench).count == Self.count + 1)
        #expect(try await service(bench).export(.development).types["Bed"] != nil)
    }

    /// Before each unit, an app saves more records than the first unit looks at.
    @Test func aRemovalEndsWhileAnAppSavesManyRecords() async throws {
        let bench = try await bench()
        let trees = (0..<40).map { RecordOperation(.forceUpdate, Record(recordName: "tree\($0)", recordType: "Tree")) }
        let storage = InterruptedStorage(bench.store, times: 60, before: { $0.scope != .public }) { try await bench.modify(trees) }
        try await service(bench, over: storage).remove(nil, ofType: "Bed")
        #expect(storage.interruptions < 60, "the removal does not wait for the app")
        #expect(try await names(bench).filter { !$0.hasPrefix("tree") } == [])
    }

    /// The new schema lacks a type that the app makes, too. Nothing refers to records of the two types.
    @Test func anImportLeavesLargeCascadesOfOtherTypesAlone() async throws {
        var limits = Limits()
        limits.recordsTakenAlong = 10
        let bench = try await bench(limits: limits)
        try await bench.modify(.init(.create, Record(recordName: "album", recordType: "Album")))
        try await bench.modify((0..<12).map { Self.note("note\($0)", ["bed": Self.reference("album", .deleteSelf)]) })
        var smaller = try await service(bench).export(.development)
        smaller.types["Bed"] = nil
        let storage = InterruptedStorage(bench.store, before: { $0.scope == .public }) {
            try await bench.modify(.init(.create, Record(recordName: "weed", recordType: "Weed")))
        }
        _ = try await service(bench, over: storage).importSchema(smaller)
        let remaining = try await names(bench)
        #expect(remaining.count == 13)
        #expect(remaining.contains("album"))
    }

    /// The schema belongs to the public database.
    @Test func aTypeStaysIfAnAppSavesAReferenceBeforeTheSchemaIsStored() async throws {
        let bench = try await bench()
        let storage = InterruptedStorage(bench.store, before: { $0.scope == .public }) {
            try await bench.modify(Self.bed(900), Self.note("n", ["bed": Self.reference("bed1000", .validate)]))
        }
        let schemas = service(bench, over: storage)
        let refused = await #expect(throws: SchemaRefused.self) { try await schemas.remove(nil, ofType: "Bed") }
        #expect(refused?.reasons == [Self.held])
        #expect(try await names(bench).contains("bed1000"))
        #expect(try await service(bench).export(.development).types["Bed"] != nil)
    }
}

/// The real storage; something else happens before the first units that write.
private final class InterruptedStorage: EngineStorage {
    private let store: any EngineStorage
    private let isMet: @Sendable (Partition) -> Bool
    private let interruption: @Sendable () async throws -> Void
    private let times: Int
    private let count = Mutex(0)

    init(
        _ store: any EngineStorage, times: Int = 1, before isMet: @escaping @Sendable (Partition) -> Bool,
        by interruption: @escaping @Sendable () async throws -> Void
    ) {
        self.store = store
        self.times = times
        self.isMet = isMet
        self.interruption = interruption
    }

    var interruptions: Int { count.withLock { $0 } }

    func write<Value: Sendable>(
        _ partition: Partition, _ terms: WorkTerms, _ body: @escaping @Sendable (any PartitionWriter) throws -> Value
    ) async throws -> Value {
        let isDue = count.withLock { count in
            guard count < times, isMet(partition) else { return false }
            count += 1
            return true
        }
        if isDue { try await interruption() }
        return try await store.write(partition, terms, body)
    }

    func read<Value: Sendable>(
        _ partition: Partition, _ terms: WorkTerms, _ body: @escaping @Sendable (any PartitionReader) throws -> Value
    ) async throws -> Value { try await store.read(partition, terms, body) }

    func readBriefly<Value: Sendable>(
        _ partition: Partition, _ terms: WorkTerms, _ body: @escaping @Sendable (any PartitionReader) throws -> Value
    ) async throws -> Value { try await store.readBriefly(partition, terms, body) }

    func partitions(containerIdentifier: String, environment: CloudEnvironment) async throws -> [Partition] {
        try await store.partitions(containerIdentifier: containerIdentifier, environment: environment)
    }

    func zonesToEmpty(limit: Int) async throws -> [ZoneToEmpty] { try await store.zonesToEmpty(limit: limit) }

    func erase(containerIdentifier: String, environment: CloudEnvironment) async throws {
        try await store.erase(containerIdentifier: containerIdentifier, environment: environment)
    }

    func target(ofLink link: Int64) async throws -> LinkTarget? { try await store.target(ofLink: link) }

    func pendingNews(limit: Int) async throws -> [(partition: Partition, news: ShareNews)] { try await store.pendingNews(limit: limit) }
}
