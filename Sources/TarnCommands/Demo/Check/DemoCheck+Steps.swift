// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import SystemSupport

// The steps of the scenario. Source: *Using Core Data With CloudKit*, WWDC 2019: two devices that make rows for each
// other, delete each other's rows, and edit the same row.

extension DemoCheck {
    private static let rowsPerDevice = 10
    /// Large enough to be sent as an asset instead of inside its record.
    private static let pictureBytes = 1_500_000
    /// Posts, each related to a tag: enough records for several batches, so that a crash interrupts an export between two.
    private static let crashRows = 800

    // MARK: Rows for each other

    func makeRows(_ iPad: DeviceRemote, _ iPhone: DeviceRemote) async throws {
        let rows = Self.rowsPerDevice
        async let first: Void = makeRows(on: iPad)
        async let second: Void = makeRows(on: iPhone)
        _ = try await (first, second)
        try await agree("both show the posts, tags and pictures of both") { view in
            view.posts.count == 2 * rows && view.tags.count == 4
                && view.posts.values.allSatisfy { $0.tags.count == 1 }
                && view.posts.values.reduce(0) { $0 + $1.attachments.count } == 2
        }
        try await comparePictures(made: iPad, shown: iPhone, by: .iPhone)
        try await comparePictures(made: iPhone, shown: iPad, by: .iPad)
    }

    private func makeRows(on device: DeviceRemote) async throws {
        let work = try await device.addTag("\(device.name) work", color: "#2f7d8c")
        let home = try await device.addTag("\(device.name) home", color: "#b3652b")
        for row in 1...Self.rowsPerDevice {
            let post = try await device.addPost("\(device.name) \(row)", content: "Made on the \(device.name).").post
            try await device.tag(post.id, with: row.isMultiple(of: 2) ? work.id : home.id)
            if row == 1 {
                try await attachPicture(with: device, to: post.id)
            }
        }
    }

    private func attachPicture(with device: DeviceRemote, to post: String) async throws {
        let thumbnail = Data([0xFF, 0xD8, 0xFF, 0xD9])
        try await device.attach(picture(for: device.name), thumbnail: thumbnail, name: "\(device.name).jpg", to: post)
    }

    /// Bytes that differ between devices and have a long period.
    private func picture(for name: String) -> Data {
        var state = Fingerprint(name.utf8).value
        return Data(
            (0..<Self.pictureBytes).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(truncatingIfNeeded: state >> 56)
            })
    }

    private func comparePictures(made: DeviceRemote, shown: DeviceRemote, by device: Device) async throws {
        let posts = await watch[device].posts.values
        guard let attachment = posts.flatMap(\.attachments).first(where: { $0.name == "\(made.name).jpg" }) else {
            throw CommandError("\(shown.name) does not show the picture of \(made.name).")
        }
        guard try await shown.picture(of: attachment.id) == picture(for: made.name) else {
            throw CommandError("The picture that \(made.name) attached came to \(shown.name) with other bytes.")
        }
    }

    // MARK: Deleting each other's rows

    func deleteRows(_ iPad: DeviceRemote, _ iPhone: DeviceRemote) async throws {
        async let first: Void = deleteRows(madeBy: iPhone, on: iPad, seenBy: .iPad)
        async let second: Void = deleteRows(madeBy: iPad, on: iPhone, seenBy: .iPhone)
        _ = try await (first, second)
        try await agree("both are empty") { $0.content.isEmpty }
    }

    private func deleteRows(madeBy maker: DeviceRemote, on device: DeviceRemote, seenBy viewer: Device) async throws {
        let view = await watch[viewer]
        let isTheirs = { (name: String) in name.hasPrefix("\(maker.name) ") }
        try await device.delete(
            posts: view.posts.values.filter { isTheirs($0.title) }.map(\.id), tags: view.tags.values.filter { isTheirs($0.name) }.map(\.id))
    }

    // MARK: Edits while offline

    func editOffline(_ iPad: DeviceRemote, _ iPhone: DeviceRemote) async throws {
        _ = try await iPad.addPost("Draft", content: "Draft")
        try await agree("both show the post to edit") { $0.posts(titled: "Draft").count == 1 }
        let ids = await [Device.iPad: watch[.iPad], .iPhone: watch[.iPhone]].compactMapValues { $0.posts.keys.first }
        guard let onPad = ids[.iPad], let onPhone = ids[.iPhone] else { throw CommandError("The post to edit is gone.") }
        for device in [iPad, iPhone] { try await device.goOnline(false) }
        try await iPad.change(onPad, ["title": "Title from the iPad"])
        try await iPhone.change(onPhone, ["content": "Text from the iPhone"])
        try await watch.wait(for: "both notice that they are offline", atMost: Self.agreeWithin) { views in
            views.values.allSatisfy { $0.sync.phase == "offline" && $0.sync.pending > 0 }
        }
        guard await watch[.iPad].posts[onPad]?.content == "Draft", await watch[.iPhone].posts[onPhone]?.title == "Draft" else {
            throw CommandError("An edit reached the other device though both were offline.")
        }
        for device in [iPad, iPhone] { try await device.goOnline(true) }
        try await agree("both have both edits") { view in
            view.posts.count == 1 && view.posts(titled: "Title from the iPad").map(\.content) == ["Text from the iPhone"]
        }
    }

    // MARK: Other devices, which end with their step

    func editInTwoVersions(_ iPad: DeviceRemote) async throws {
        let tablet = try await start(.tablet)
        let onPad = try await onlyPost(on: .iPad)
        try await iPad.change(onPad, ["title": "Ridge, 2,871 m"])
        try await agree("version 2 shows the title of version 1", with: .tablet) { $0.posts.values.map(\.fullTitle) == ["Ridge, 2,871 m"] }
        let onTablet = try await onlyPost(on: .tablet)
        let shown = await watch[.tablet].posts[onTablet]
        guard shown?.title == "Ridge", shown?.subtitle == "2,871 m" else {
            throw CommandError("The lens did not split the title: version 2 shows '\(shown?.title ?? "")' and '\(shown?.subtitle ?? "")'.")
        }
        try await tablet.change(onTablet, ["subtitle": "2,872 m", "content": "Measured again"])
        try await agree("version 1 shows the edits of version 2", with: .tablet) { view in
            view.posts(titled: "Ridge, 2,872 m").map(\.content) == ["Measured again"]
        }
        try await iPad.change(onPad, ["title": "Summit, 2,872 m"])
        try await agree("version 2 shows the next edit of version 1", with: .tablet) { $0.posts(titled: "Summit, 2,872 m").count == 1 }
        await cast.crash(.tablet)
    }

    func mirror(_ iPad: DeviceRemote) async throws {
        let before = await watch[.iPad].content
        let mirror = try await start(.mirror)
        try await agree("the mirror shows the content of the others", with: .mirror) { $0.content == before }
        let added = try await mirror.addPost("Written on the mirror", content: "A save like any other.").post
        try await attachPicture(with: mirror, to: added.id)
        try await agree("the others have the mirror's post and its picture", with: .mirror) { view in
            view.posts(titled: "Written on the mirror").map(\.attachments.count) == [1]
        }
        try await comparePictures(made: mirror, shown: iPad, by: .iPad)
        let onPad = await watch[.iPad].posts(titled: "Written on the mirror").map(\.id)
        try await iPad.delete(posts: onPad, tags: [])
        try await agree("the mirror's post is deleted on the mirror as well", with: .mirror) { $0.content == before }
        await cast.crash(.mirror)
    }

    private func onlyPost(on device: Device) async throws -> String {
        guard let id = await watch[device].posts.keys.first else { throw CommandError("The post to edit is gone.") }
        return id
    }

    // MARK: One save at a time

    func measure(_ iPad: DeviceRemote, _ iPhone: DeviceRemote) async throws -> [Duration] {
        var latencies: [Duration] = []
        for round in 1...rounds {
            for (maker, viewer) in [(iPad, Device.iPhone), (iPhone, .iPad)] {
                let title = "Round \(round) \(maker.name)"
                let saved = try await maker.addPost(title)
                try await watch.wait(for: "'\(title)' appears on the other device", atMost: Self.agreeWithin) {
                    $0[viewer]?.appearances[title] != nil
                }
                guard let appeared = await watch[viewer].appearances[title] else { throw CommandError("'\(title)' is gone.") }
                latencies.append(.nanoseconds(Int64(appeared) - Int64(saved.savedAt)))
            }
        }
        return latencies
    }

    // MARK: Crashes

    func crashDevice(_ iPad: DeviceRemote) async throws {
        let before = await watch[.iPad].content
        try await export(from: iPad, .iPad, title: "Before the device's crash") { await cast.crash(.iPad) }
        try await start(.iPad)
        try await agreeOnSamples("Before the device's crash", and: before)
    }

    func crashServer(_ iPhone: DeviceRemote) async throws {
        let before = await watch[.iPhone].content
        try await export(from: iPhone, .iPhone, title: "Before the server's crash") { await cast.crashServer() }
        try await cast.startServer()
        try await agreeOnSamples("Before the server's crash", and: before)
    }

    /// Saves many posts at once, and calls `crash` when the device reports that their export is in progress.
    private func export(from remote: DeviceRemote, _ device: Device, title: String, crash: () async -> Void) async throws {
        // With or without a response: posts in an export have been saved.
        let saving = Task { try? await remote.addSamples(Self.crashRows, title: title) }
        try await watch.wait(for: "\(remote.name) is in the middle of an export", atMost: Self.agreeWithin) { views in
            guard let sync = views[device]?.sync, sync.phase == "exporting", let done = sync.done, let total = sync.total else {
                return false
            }
            // The server applies a save atomically, so the other device can't show part of it: the export's progress is the sign.
            return total >= Self.crashRows && done < total
        }
        await crash()
        await saving.value
    }

    /// Checks that no saved object is lost or duplicated.
    private func agreeOnSamples(_ title: String, and before: [String]) async throws {
        let count = Self.crashRows
        let tag = "\(title) #7a5ba6"
        let samples = (1...count).map { "post \(title) \($0) | Post \($0) of \(count), made in one save. | \(tag) | " }
        let expected = (before + samples + ["tag \(tag)"]).sorted()
        try await agree("both have each of the \(count) posts once, and all from before") { $0.content.sorted() == expected }
    }
}
