// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import TestBasics
import Testing

@testable import TarnCommands

/// Posts in the trash of a device: visible and hidden ones.
@Suite(.closesFixtures, .tags(.slow)) struct TrashTests {
    @Test func aPostInTheTrashIsOutOfSightUntilItIsRestored() async throws {
        let folder = try Folder()
        let first = try await TestDevice(store: folder.path("store"), in: folder)
        let post = try await first.remote.addPost("In the way", content: "Not for ever.").post
        let other = try await first.remote.addPost("Stays").post
        try await first.waits(for: "both are shown") { Set($0.posts.keys) == [post.id, other.id] }
        try await first.remote.moveToTrash(post.id)
        try await first.waits(for: "the post is in the trash") { $0.posts == [other.id: other] && $0.trash == [post.id: post] }
        await first.stop()

        let second = try await TestDevice(store: folder.path("store"), in: folder)
        try await second.waits(for: "the next start shows the same") { $0.posts == [other.id: other] && $0.trash == [post.id: post] }
        try await second.remote.restore(post.id)
        try await second.waits(for: "the post is back as it was") { $0.posts[post.id] == post && $0.trash.isEmpty }
        // A restored post is not reported as another device's.
        #expect(await second.watch[.iPad].appearances.isEmpty)
        await second.stop()
    }

    @Test func anEmptiedTrashGivesNothingBack() async throws {
        let folder = try Folder()
        let device = try await TestDevice(store: folder.path("store"), in: folder)
        let post = try await device.remote.addPost("Done with").post
        let kept = try await device.remote.addPost("Kept").post
        try await device.remote.moveToTrash(post.id)
        try await device.waits(for: "the post is in the trash") { $0.trash.keys.contains(post.id) }
        try await device.remote.emptyTrash()
        try await device.waits(for: "the trash is empty") { $0.trash.isEmpty && $0.posts == [kept.id: kept] }
        await #expect(throws: CommandError.self) { try await device.remote.restore(post.id) }
        // Moving it to the trash again is not an error.
        try await device.remote.moveToTrash(post.id)
        #expect(await device.watch[.iPad].trash.isEmpty)
        await device.stop()
    }
}
