// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing
import ValueSimulation

@Suite struct ImportTests {
    /// A page as the server of a test writes it: no feed behind it.
    private func page(
        _ records: [Record], deleted: [String] = [], after token: String? = nil, to next: String, more: Bool = false,
        generation: Int64? = 1
    ) -> ImportPage {
        ImportPage(records: records, deletions: deleted, askedWith: token, token: next, moreComing: more, generation: generation)
    }

    private func record(_ name: String, _ entity: String, tag: String = "1", _ fields: [String: FieldValue] = [:]) -> Record {
        var all = ["CD_entityName": Field(.string(entity))]
        for (name, value) in fields { all["CD_" + name] = Field(value) }
        return Record(recordName: name, recordType: "CD_\(entity == "ImagePost" ? "Post" : entity)", recordChangeTag: tag, fields: all)
    }

    private func link(
        _ name: String, _ names: String, tag: String = "1", entities: String = "Post:Tag", relationships: String = "tags:posts"
    ) -> Record {
        Record(
            recordName: name, recordType: "CDMR", recordChangeTag: tag,
            fields: [
                "CD_entityNames": Field(.string(entities)), "CD_recordNames": Field(.string(names)),
                "CD_relationships": Field(.string(relationships)),
            ])
    }

    private let server = ServerModel()

    @Test func aFullFetchReleasesNoRecordThatItHasNotReturned() {
        let changes = page([], after: "1", to: "2", generation: nil), fetch = page([], to: "2", generation: 3)
        #expect(changes.mayRelease(withheldAt: 1))
        #expect(!fetch.mayRelease(withheldAt: 2))
        #expect(fetch.mayRelease(withheldAt: 3), "an earlier page of the same fetch returned it")
    }

    @Test func aDeferredReferenceIsResolvedWhenItsTargetArrives() {
        var replica = Replica("A")
        replica.apply(page([record("a", "Attachment", ["post": .string("p")])], to: "1", more: true), from: server)
        #expect(replica.dump == "Attachment a")
        #expect(replica.parked.count == 1)
        replica.apply(page([record("p", "Post", ["title": .string("P")])], after: "1", to: "2"), from: server)
        #expect(replica.dump == "Attachment a  post → p\nPost p  title \"P\"  views 7")
        #expect(replica.parked.isEmpty)
    }

    @Test func theOrderOfRecordsInAChangePageDoesNotMatter() {
        let records = [
            link("l", "p:t"), record("a", "Attachment", ["post": .string("p"), "imageData": .string("i")]),
            record("i", "ImageData", ["attachment": .string("a")]), record("t", "Tag"), record("p", "ImagePost", ["caption": .string("C")]),
        ]
        var dumps: Set<String> = []
        for order in [records, records.reversed(), Array(records[2...] + records[..<2])] {
            var replica = Replica("A")
            replica.apply(page(order, to: "1"), from: server)
            dumps.insert(replica.dump)
        }
        #expect(
            dumps == [
                """
                Attachment a  imageData → i  post → p
                ImageData i  attachment → a
                ImagePost p  views 7  caption "C"
                Tag t
                tags:posts p – t
                """
            ])
    }

    @Test func aLocalEditReplacesADeferredReference() {
        var replica = Replica("A")
        replica.apply(page([record("a", "Attachment", ["post": .string("late")]), record("p", "Post")], to: "1"), from: server)
        if let attachment = replica.key(named: "a"), let post = replica.key(named: "p") {
            replica.set("post", of: attachment, to: .reference(post))
        }
        replica.apply(page([record("late", "Post", tag: "2")], after: "1", to: "2", generation: nil), from: server)
        #expect(replica.dump.hasPrefix("Attachment a  post → p"))
        #expect(replica.parked.isEmpty)
        replica.scan()
        #expect(replica.planBatch().items.map(\.record.fields) == [["CD_post": Field(.string("p"))]])
    }

    @Test func aReferenceToATargetOfAnotherEntityIsIgnored() {
        var replica = Replica("A")
        replica.apply(page([record("a", "Attachment", ["post": .string("t")]), record("t", "Tag")], to: "1"), from: server)
        #expect(replica.dump == "Attachment a\nTag t")
        replica.scan()
        #expect(replica.planBatch().items.isEmpty)
    }

    @Test func duplicateAndStaleChangePagesHaveNoEffect() {
        var replica = Replica("A")
        let first = page([record("p", "Post", ["title": .string("old")])], to: "1")
        let second = page([record("p", "Post", tag: "2", ["title": .string("new")])], after: "1", to: "2", generation: nil)
        #expect([first, second].map { replica.apply($0, from: server) } == [true, true])
        let (dump, token) = (replica.dump, replica.token)
        #expect([first, second].map { replica.apply($0, from: server) } == [false, false])
        // The same state again, under a new token.
        replica.apply(page([record("p", "Post", tag: "2", ["title": .string("new")])], after: "2", to: "3", generation: nil), from: server)
        #expect(replica.dump == dump)
        #expect(token == "2")
        #expect(replica.conflicts.isEmpty)
    }

    @Test func unknownTypesEntitiesAndFieldsAreSkippedAndPreserved() {
        var replica = Replica("A")
        var post = record("p", "Post", ["title": .string("P"), "later": .int64(1)])
        post.fields["CD_views"] = Field(.string("not a number"))
        replica.apply(
            page([post, Record(recordName: "x", recordType: "Foreign", recordChangeTag: "1"), record("y", "Unheard")], to: "1"),
            from: server)
        #expect(replica.dump == "Post p  title \"P\"  views 7")
        #expect(replica.records["p"]?.ancestor.unapplied == ["CD_later": Field(.int64(1))])
        if let key = replica.key(named: "p") { replica.set("title", of: key, to: .string("Q")) }
        replica.scan()
        #expect(replica.planBatch().items.map(\.record.fields) == [["CD_title": Field(.string("Q"))]])
    }

    @Test func joinRecordsAreReadWithEitherSeparatorAndInEitherOrder() {
        var replica = Replica("A")
        let records = [record("p", "Post"), record("q", "ImagePost"), record("t", "Tag")]
        let links = [
            link("l1", "p;t", entities: "Post;Tag", relationships: "tags;posts"),
            link("l2", "t:q", entities: "Tag:ImagePost", relationships: "posts:tags"),
            link("l3", "p:q", entities: "Post:Post", relationships: "related:related"),
            link("bad1", "p:t:x"), link("bad2", "p", entities: "Post:Nobody"), link("bad3", "p:t", relationships: "title:posts"),
        ]
        replica.apply(page(records + links, to: "1"), from: server)
        #expect(replica.dump.split(separator: "\n").suffix(3) == ["related:related p – q", "tags:posts p – t", "tags:posts q – t"])
        #expect(replica.links.keys.sorted() == ["l1", "l2", "l3"])
    }

    /// Mirrors make no such names; other programs may.
    @Test func aJoinRecordOfNamesWithColonsRoundTrips() {
        var replica = Replica("A"), other = Replica("B")
        let records = [record("notes:1", "Post"), record("t", "Tag"), record("u", "Tag")]
        replica.apply(page(records, to: "1"), from: server)
        guard let post = replica.key(named: "notes:1"), let tag = replica.key(named: "t"), let second = replica.key(named: "u") else {
            return
        }
        replica.setLinked(true, post, "tags", tag)
        replica.setLinked(true, tag, "posts", post)
        replica.setLinked(true, second, "posts", post)
        replica.scan()
        let written = replica.planBatch().items.map(\.record)
        #expect(written.count == 2)
        #expect(written.allSatisfy { $0.fields["CD_entityNames"] == Field(.string("Post;Tag")) })
        other.apply(page(records + written, to: "1"), from: server)
        #expect(other.dump.split(separator: "\n").suffix(2) == ["tags:posts notes:1 – t", "tags:posts notes:1 – u"])
        // The separators of one record need not be alike.
        var third = Replica("C")
        third.apply(
            page(records + [link("l", "t;u", entities: "Post:Tag"), link("m", "notes:1;t", entities: "Post;Tag")], to: "1"), from: server)
        #expect(third.links.keys.sorted() == ["l", "m"])
        #expect(third.pairs.count == 1)
    }

    @Test func objectsStayLinkedWhileAnyJoinRecordOfThemExists() {
        var replica = Replica("A")
        replica.apply(page([record("p", "Post"), record("t", "Tag"), link("l1", "p:t"), link("l2", "p:t")], to: "1"), from: server)
        #expect(replica.pairs.count == 1)
        replica.apply(page([], deleted: ["l1"], after: "1", to: "2", generation: nil), from: server)
        #expect(replica.pairs.count == 1)
        replica.apply(page([], deleted: ["l2"], after: "2", to: "3", generation: nil), from: server)
        #expect(replica.pairs.isEmpty)
        #expect(replica.links.isEmpty)
    }

    @Test func aLocallyUnlinkedPairStaysUnlinked() {
        var replica = Replica("A")
        replica.apply(page([record("p", "Post"), record("t", "Tag"), link("l1", "p:t")], to: "1"), from: server)
        if let post = replica.key(named: "p"), let tag = replica.key(named: "t") { replica.setLinked(false, post, "tags", tag) }
        // The other device had linked the two as well; its record comes before this device sent anything.
        replica.apply(page([link("l2", "p:t", tag: "2")], after: "1", to: "2", generation: nil), from: server)
        #expect(replica.pairs.isEmpty)
        replica.scan()
        #expect(Set(replica.planBatch().items.map { "\($0.operation) \($0.recordName)" }) == ["forceDelete l1", "forceDelete l2"])
    }

    @Test func aJoinRecordIsDeferredUntilBothObjectsArrive() {
        var replica = Replica("A")
        replica.apply(page([link("l", "p:t")], to: "1", more: true), from: server)
        replica.apply(page([record("t", "Tag")], after: "1", to: "2", more: true), from: server)
        #expect(replica.pairs.isEmpty)
        replica.apply(page([record("p", "Post")], after: "2", to: "3"), from: server)
        #expect(replica.pairs.count == 1)
    }

    @Test func aReferenceClearedByADeletionIsNotExported() {
        var replica = Replica("A")
        replica.apply(page([record("a", "Attachment", ["post": .string("p")]), record("p", "Post")], to: "1"), from: server)
        replica.apply(page([], deleted: ["p"], after: "1", to: "2", generation: nil), from: server)
        #expect(replica.dump == "Attachment a")
        replica.scan()
        #expect(replica.planBatch().items.isEmpty)
    }

    @Test func aNewTargetReplacesADeletedOneOfTheSamePage() {
        var replica = Replica("A")
        replica.apply(
            page([record("a", "Attachment", ["post": .string("p")]), record("p", "Post"), record("q", "Post")], to: "1"), from: server)
        let moved = record("a", "Attachment", tag: "2", ["post": .string("q")])
        replica.apply(page([moved], deleted: ["p"], after: "1", to: "2", generation: nil), from: server)
        #expect(replica.dump == "Attachment a  post → q\nPost q  views 7")
        #expect(replica.conflicts.isEmpty)
        replica.scan()
        #expect(replica.planBatch().items.isEmpty)
    }

    @Test func aFullFetchDeletesRecordsThatItDoesNotList() {
        var replica = Replica("A")
        replica.apply(
            page([record("p", "Post"), record("t", "Tag"), record("u", "Tag"), link("l", "p:t"), link("m", "p:u")], to: "9"), from: server)
        replica.insert("Post", ["title": .string("unsent")])
        replica.scan()
        replica.startFullFetch()
        replica.apply(page([record("p", "Post")], to: "1", more: true, generation: 2), from: server)
        replica.apply(page([record("t", "Tag"), link("l", "p:t")], after: "1", to: "2", generation: 2), from: server)
        #expect(replica.dump == "Post A1  title \"unsent\"  views 7\nPost p  views 7\nTag t\ntags:posts p – t")
    }
}
