// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import MirroringCore
import Testing

private typealias Fixture = RelocationFixture

/// Which objects a change of this device relocates.
@Suite struct ZoneAssignmentTests {
    private let post = Fixture.key("Post", 1), tag = Fixture.key("Tag", 1), attachment = Fixture.key("Attachment", 1)

    private func assignment(_ transactions: [LocalTransaction]) -> ZoneAssignment { ZoneAssignment(transactions, mapping: Fixture.mapping) }

    private func transaction(_ number: Int64, _ changes: [LocalChange], author: String? = "app") -> LocalTransaction {
        LocalTransaction(number: number, author: author, changes: changes)
    }

    // MARK: Changed rows

    @Test func rowsKeepTheOrderOfTheirFirstChange() {
        let assignment = assignment([
            transaction(1, [LocalChange(key: tag, kind: .insert)]),
            transaction(2, [LocalChange(key: post, kind: .insert), LocalChange(key: tag, kind: .update)]),
        ])
        #expect(assignment.keys == [tag, post])
    }

    @Test func changesOfTheSyncEngineNeedNoAssignment() {
        let assignment = assignment([
            transaction(1, [LocalChange(key: tag, kind: .insert)], author: MirrorNames.importAuthor),
            transaction(2, [LocalChange(key: post, kind: .delete)], author: MirrorNames.resetAuthor),
        ])
        #expect(assignment.keys.isEmpty)
    }

    @Test func changedPropertiesOfSeveralTransactionsAreJoined() {
        let assignment = assignment([
            transaction(1, [LocalChange(key: post, kind: .update, changedProperties: ["title"])]),
            transaction(2, [LocalChange(key: post, kind: .update, changedProperties: ["tags"])]),
        ])
        #expect(assignment.changedProperties(of: post) == ["title", "tags"])
    }

    @Test func allPropertiesOfANewRowHaveChanged() {
        let assignment = assignment([
            transaction(1, [LocalChange(key: post, kind: .insert)]),
            transaction(2, [LocalChange(key: post, kind: .update, changedProperties: ["title"])]),
        ])
        #expect(assignment.changedProperties(of: post) == nil)
        #expect(assignment.existing == [post])
    }

    @Test func aDeletedRowRelocatesNoOtherRow() {
        let assignment = assignment([
            transaction(1, [LocalChange(key: post, kind: .update)]), transaction(2, [LocalChange(key: post, kind: .delete)]),
        ])
        #expect(assignment.keys == [post])
        #expect(assignment.existing.isEmpty)
    }

    @Test func aReinsertedRowExists() {
        let assignment = assignment([
            transaction(1, [LocalChange(key: post, kind: .delete)]), transaction(2, [LocalChange(key: post, kind: .insert)]),
        ])
        #expect(assignment.existing == [post])
    }

    // MARK: Relocations

    private func relocations(_ changes: [ZoneAssignment.Change]) -> [String] {
        ZoneAssignment.relocations(changes, home: Fixture.home).map { "\($0.key.primaryKey) of entity \($0.key.entity) to \($0.zone)" }
    }

    private func expected(_ key: RowKey, _ zone: Int64) -> String { "\(key.primaryKey) of entity \(key.entity) to \(zone)" }

    @Test func anObjectRelatedToASharedOneIsAssignedToItsZone() {
        let change = ZoneAssignment.Change(key: attachment, zone: Fixture.home, neighbours: [.init(key: post, zone: 3)])
        #expect(relocations([change]) == [expected(attachment, 3)])
    }

    @Test func relatedObjectsAreRelocatedWithASharedOne() {
        let change = ZoneAssignment.Change(key: post, zone: 3, neighbours: [.init(key: tag, zone: Fixture.home)])
        #expect(relocations([change]) == [expected(tag, 3)])
    }

    @Test func objectsOfOneZoneAreNotRelocated() {
        let changes = [
            ZoneAssignment.Change(key: post, zone: 3, neighbours: [.init(key: tag, zone: 3)]),
            ZoneAssignment.Change(
                key: attachment, zone: Fixture.home, neighbours: [.init(key: Fixture.key("Post", 2), zone: Fixture.home)]),
        ]
        #expect(relocations(changes).isEmpty)
    }

    /// Objects of two shares are never related: neither is relocated.
    @Test func objectsOfTwoSharesAreNotRelocated() {
        let change = ZoneAssignment.Change(key: post, zone: 3, neighbours: [.init(key: tag, zone: 4)])
        #expect(relocations([change]).isEmpty)
    }

    @Test func anObjectRelatedToTwoSharesIsAssignedToTheOlderOne() {
        let change = ZoneAssignment.Change(
            key: attachment, zone: Fixture.home, neighbours: [.init(key: post, zone: 5), .init(key: tag, zone: 2)])
        #expect(relocations([change]) == [expected(attachment, 2), expected(attachment, 5)])
    }

    // MARK: Parts

    @Test func historyIsPartitionedByZone() {
        let assignment = assignment([
            transaction(1, [LocalChange(key: post, kind: .update), LocalChange(key: tag, kind: .insert)]),
            transaction(2, [LocalChange(key: tag, kind: .update)]),
        ])
        let parts = assignment.parts(zones: [post: 2, tag: Fixture.home])
        #expect(parts.map(\.zone) == [Fixture.home, 2])
        #expect(parts.map { $0.history.map(\.changes.count) } == [[1, 1], [1, 0]])
        #expect(parts.map { $0.history.map(\.number) } == [[1, 2], [1, 2]])
    }

    // MARK: Connected objects

    /// - Parameter neighbours: By key.
    private func connected(_ keys: [Int64], _ neighbours: [Int64: [Int64]], without excluded: Set<Int64> = []) -> [Int64] {
        var connected = ConnectedObjects(from: keys.map { Fixture.key("Post", $0) })
        while let key = connected.next() {
            if excluded.contains(key.primaryKey) { continue }
            connected.include(key, neighbours: (neighbours[key.primaryKey] ?? []).map { Fixture.key("Post", $0) })
        }
        return connected.keys.map(\.primaryKey)
    }

    @Test func connectedObjectsAreRelocatedTogether() { #expect(connected([1], [1: [2, 3], 3: [4]]).sorted() == [1, 2, 3, 4]) }

    @Test func cyclesOfRelationshipsTerminate() { #expect(connected([1], [1: [2], 2: [3], 3: [1]]).sorted() == [1, 2, 3]) }

    /// Two objects were relocated, and a third one that both led to was relocated twice.
    @Test func anObjectReachedOnSeveralPathsIsRelocatedOnce() { #expect(connected([1, 2, 1], [1: [3], 2: [3]]).sorted() == [1, 2, 3]) }

    @Test func anExcludedObjectIsNotTraversed() { #expect(connected([1], [1: [2], 2: [3]], without: [2]) == [1]) }
}
