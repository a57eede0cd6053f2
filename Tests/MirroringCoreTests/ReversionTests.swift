// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing
import ValueSimulation

/// Changes that a server rejects permanently are reverted to the server's state.
@Suite struct ReversionTests {
    private static let refusal = ItemOutcome.refused(CloudFailure(.permissionFailure, "not yours"))

    /// Two devices that know a post with a tag and an attachment; `mine` may write nothing of it.
    private func shared() -> (server: ServerModel, theirs: Replica, mine: Replica) {
        var server = ServerModel(), theirs = Replica("T"), mine = Replica("M")
        let post = theirs.insert("Post", ["title": .string("P")])
        theirs.setLinked(true, post, "tags", theirs.insert("Tag", ["name": .string("t")]))
        theirs.insert("Attachment", ["post": .reference(post)])
        theirs.sync(&server)
        mine.sync(&server)
        return (server, theirs, mine)
    }

    /// Sends everything, and the server rejects it.
    private func reject(_ mine: inout Replica) {
        mine.scan()
        for _ in 0..<20 {
            let batch = mine.planBatch(itemsMax: 200, limits: Limits())
            if batch.items.isEmpty { return }
            _ = mine.settle(batch, Dictionary(uniqueKeysWithValues: batch.items.map { ($0.recordName, Self.refusal) }), [:])
        }
        Issue.record("something is sent again and again")
    }

    private func changes(_ mine: Replica) -> [RejectedChange] {
        mine.records.values.compactMap(\.rejectedChange) + mine.links.values.compactMap(\.rejectedChange)
    }

    private func revert(_ changes: [RejectedChange], _ mine: inout Replica, _ server: ServerModel) {
        let reversion = Reversion(of: changes)
        let found = reversion.namesToFetch.compactMap { server.records[$0] }
        let missing = Set(reversion.namesToFetch).subtracting(found.map(\.recordName))
        mine.apply(reversion.page(found: found, missing: missing, token: mine.token ?? "", generation: nil), from: server)
    }

    @Test func aRevertedEditTakesTheServersValuesAndFollowsLaterOnes() throws {
        var (server, theirs, mine) = shared()
        let before = mine.dump
        let post = try #require(mine.keys(of: "Post").first)
        mine.set("title", of: post, to: .string("mine"))
        reject(&mine)
        #expect(changes(mine).map(\.kind) == [.update])
        #expect(changes(mine).map(\.reason) == ["not yours"])
        // A later value of the other device stays hidden until then.
        let theirPost = try #require(theirs.keys(of: "Post").first)
        theirs.set("title", of: theirPost, to: .string("theirs"))
        theirs.sync(&server)
        revert(changes(mine), &mine, server)
        #expect(mine.dump == theirs.dump)
        #expect(mine.dump != before)
        #expect(changes(mine).isEmpty)
        #expect(mine.records.values.allSatisfy { $0.stage == .uploaded })
        #expect(mine.conflicts.map(\.losing) == [.string("mine")])
        #expect(mine.conflicts.map(\.winner) == [.remote])
        theirs.set("title", of: theirPost, to: .string("again"))
        theirs.sync(&server)
        mine.sync(&server)
        #expect(mine.dump == theirs.dump)
    }

    @Test func aRevertedDeletionRestoresObjectAndLinks() throws {
        var (server, theirs, mine) = shared()
        mine.delete(try #require(mine.keys(of: "Post").first))
        reject(&mine)
        let rejected = changes(mine)
        // The post, the link, and the attachment with the reference that the deletion cleared.
        #expect(rejected.filter { $0.kind == .deletion }.count == 2)
        #expect(rejected.filter { $0.kind == .update }.count == 1)
        revert(rejected, &mine, server)
        #expect(mine.dump == theirs.dump)
        #expect(changes(mine).isEmpty)
        mine.sync(&server)
        #expect(mine.dump == theirs.dump)
        #expect(server.records.count == 4)
        theirs.sync(&server)
        #expect(mine.dump == theirs.dump)
    }

    @Test func aRevertedInsertionIsDeletedAndItsValuesAreLogged() throws {
        var (server, theirs, mine) = shared()
        let post = try #require(mine.keys(of: "Post").first)
        let tag = mine.insert("Tag", ["name": .string("new")])
        mine.setLinked(true, post, "tags", tag)
        reject(&mine)
        #expect(changes(mine).map(\.kind) == [.insertion, .insertion])
        revert(changes(mine), &mine, server)
        #expect(mine.dump == theirs.dump)
        #expect(changes(mine).isEmpty)
        #expect(mine.conflicts.contains { $0.losing == .string("new") })
        mine.sync(&server)
        #expect(server.records.count == 4)
        #expect(mine.records.values.allSatisfy { $0.stage == .uploaded })
        #expect(mine.links.count == 1)
    }

    @Test func revertedLinksAreRestoredOrRemoved() throws {
        var (server, theirs, mine) = shared()
        let post = try #require(mine.keys(of: "Post").first), tag = try #require(mine.keys(of: "Tag").first)
        mine.setLinked(false, post, "tags", tag)
        reject(&mine)
        #expect(changes(mine).map(\.kind) == [.deletion])
        #expect(changes(mine).allSatisfy { $0.isLink })
        revert(changes(mine), &mine, server)
        #expect(mine.dump == theirs.dump)
        #expect(changes(mine).isEmpty)
    }

    @Test func revertingAnObjectDeletedOnTheServerDeletesIt() throws {
        var (server, theirs, mine) = shared()
        mine.set("title", of: try #require(mine.keys(of: "Post").first), to: .string("mine"))
        reject(&mine)
        theirs.delete(try #require(theirs.keys(of: "Post").first))
        theirs.sync(&server)
        revert(changes(mine), &mine, server)
        #expect(mine.keys(of: "Post").isEmpty)
        #expect(mine.conflicts.contains { $0.losing == .string("mine") })
        mine.sync(&server)
        #expect(mine.dump == theirs.dump)
    }

    @Test func aReversionDoesNotInterruptAFullFetch() {
        let reversion = Reversion(of: [])
        let page = reversion.page(found: [], missing: [], token: "t", generation: 3)
        #expect(page.moreComing)
        #expect(page.generation == 3)
        #expect(page.askedWith == "t")
        #expect(page.token == "t")
        #expect(!reversion.page(found: [], missing: [], token: "t", generation: nil).moreComing)
    }
}
