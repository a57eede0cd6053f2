// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

// The steps of the tour, performed on the devices while a person watches.

extension DemoStage {
    enum TourStep: Int, CaseIterable, Sendable { case save = 1, merge, conflict, kill, inside }

    private static let settledWithin = Duration.seconds(60)
    private static let post = "Above the tree line"

    /// Performs one step. A step that is being performed is not begun again.
    ///
    /// - Throws: ``CommandError`` with the state of the devices if they do not come to show the same.
    func perform(_ step: TourStep) async throws {
        guard performing == nil else { return }
        setPerforming(step.rawValue)
        defer { setPerforming(nil) }
        switch step {
        case .save: try await save()
        case .merge: try await merge()
        case .conflict: try await conflict()
        case .kill: try await killAndStart()
        case .inside: try await start(.guest)
        }
    }

    private func save() async throws {
        let titles = ["The lake at half past five", "Ridge, 2,871 m", "Thunder came a day early"]
        let count = titles.count { !view(.iPad).posts(titled: $0).isEmpty }
        let title = count < titles.count ? titles[count] : "Day \(view(.iPad).posts.count + 1)"
        _ = try await remote(.iPad)?.addPost(title, content: "Written on the iPad, and saved once.")
        try await wait("both devices show '\(title)'") { views in
            Device.pair.allSatisfy { views[$0]?.posts(titled: title).isEmpty == false }
        }
    }

    /// The identifiers of the tour's post on both devices; the iPad writes it if it is missing.
    private func tourPost() async throws -> [Device: String] {
        let title = Self.post
        if view(.iPad).posts(titled: title).isEmpty {
            _ = try await remote(.iPad)?.addPost(title, content: "A lake that mirrors the clouds.")
        }
        try await wait("both devices show '\(title)'") { views in
            Device.pair.allSatisfy { views[$0]?.posts(titled: title).isEmpty == false && views[$0]?.isSettled == true }
        }
        return Dictionary(
            uniqueKeysWithValues: Device.pair.compactMap { device in
                view(device).posts(titled: title).first.map { (device, $0.id) }
            })
    }

    private func merge() async throws {
        let ids = try await tourPost()
        guard let onPad = ids[.iPad], let onPhone = ids[.iPhone] else { return }
        let text = view(.iPad).posts[onPad]?.content ?? ""
        try await set(.iPhone, isOnline: false)
        _ = try await remote(.iPhone)?.change(onPhone, ["content": text + " Written on the phone, offline."])
        _ = try await remote(.iPad)?.change(onPad, ["content": "Seen from the iPad: " + text])
        try await waitUntilPhoneWaits()
        try await set(.iPhone, isOnline: true)
        try await waitUntilInStep()
    }

    private func conflict() async throws {
        let ids = try await tourPost()
        guard let onPad = ids[.iPad], let onPhone = ids[.iPhone] else { return }
        try await set(.iPhone, isOnline: false)
        let title = "Above the tree line, from the iPad"
        _ = try await remote(.iPad)?.change(onPad, ["title": title])
        _ = try await remote(.iPhone)?.change(onPhone, ["title": "Above the tree line, from the phone"])
        try await waitUntilPhoneWaits()
        // The iPhone shows the card if its title reaches the server last.
        try await wait("the iPad's title is sent") { views in
            views[.iPad]?.posts(titled: title).isEmpty == false && views[.iPad]?.isSettled == true
        }
        try await set(.iPhone, isOnline: true)
        try await waitUntilInStep()
    }

    private func killAndStart() async throws {
        await killServer()
        for (number, device) in Device.pair.enumerated() {
            _ = try await remote(device)?.addPost("Written without a server, \(number + 1)", content: "Saved on the \(device.rawValue).")
        }
        try await wait("both devices notice that the server is gone") { views in
            Device.pair.allSatisfy { views[$0]?.sync.phase == "offline" && (views[$0]?.sync.pending ?? 0) > 0 }
        }
        try await startServer()
        try await waitUntilInStep()
    }

    private func waitUntilPhoneWaits() async throws {
        try await wait("the iPhone's change waits") { $0[.iPhone]?.sync.phase == "offline" && ($0[.iPhone]?.sync.pending ?? 0) > 0 }
    }

    private func waitUntilInStep() async throws {
        try await wait("both devices show the same") { views in
            guard let one = views[.iPad], let other = views[.iPhone], one.isSettled, other.isSettled else { return false }
            return one.content == other.content
        }
    }

    private func wait(_ what: String, until isReached: @escaping @Sendable (DeviceWatch.Views) -> Bool) async throws {
        try await watch.wait(for: what, atMost: Self.settledWithin, until: isReached)
    }
}
