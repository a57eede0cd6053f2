// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Testing

@testable import TarnCommands

/// The sentence above the saves: which of the devices, the server and the networks keeps the devices apart.
@Suite struct VerdictTests {
    private typealias Device = DemoCast.Device

    private func view(_ titles: [String], phase: String = "idle", pending: Int = 0, isOnline: Bool = true) throws -> DeviceView {
        var view = DeviceView()
        let posts = titles.enumerated().map { number, title in
            #"{"id":"p\#(number)","title":"\#(title)","content":"","tags":[],"attachments":[]}"#
        }
        let state = """
            {"posts":[\(posts.joined(separator: ","))],"tags":[],"sync":{"phase":"\(phase)","pending":\(pending)},
             "network":{"online":\(isOnline),"switchable":true}}
            """
        try view.apply(ServerEvent(name: "state", data: state))
        return view
    }

    private func verdict(
        _ iPad: DeviceView, _ iPhone: DeviceView, killed: Device? = nil, isServerRunning: Bool = true
    ) -> StageState.Verdict {
        .of([.iPad: iPad, .iPhone: iPhone], power: { $0 == killed ? .killed : .running }, isServerRunning: isServerRunning)
    }

    @Test func devicesWithTheSamePostsAreInStep() throws {
        let result = verdict(try view(["a", "b"]), try view(["b", "a"]))
        #expect(result.kind == .inStep)
        #expect(result.text == "Both devices show the same 2 posts. Nothing waits.")
        #expect(verdict(try view(["a"]), try view(["a"])).text == "Both devices show the same post. Nothing waits.")
    }

    @Test func otherPostsAndPendingRecordsAreOnTheirWay() throws {
        #expect(verdict(try view(["a"]), try view(["b"])).kind == .syncing)
        #expect(verdict(try view(["a"], pending: 1), try view(["a"])).kind == .syncing)
        #expect(verdict(try view(["a"]), try view(["a"], phase: "importing")).kind == .syncing)
    }

    @Test func theCauseOfASeparationIsNamed() throws {
        let same = try view(["a"])
        #expect(verdict(same, same, killed: .iPhone).text == "The iPhone is not running. Its store has all of its saves.")
        #expect(verdict(same, same, isServerRunning: false).kind == .apart)
        let offline = try view(["a"], phase: "offline", pending: 1, isOnline: false)
        #expect(verdict(same, offline).text == "The iPhone has no network. 1 of its records waits to be sent.")
    }

    @Test func conflictsAndTheNetworkAreFollowed() throws {
        var view = try view(["a"])
        try view.apply(ServerEvent(name: "conflicts", data: #"[{"id":1},{"id":2}]"#))
        try view.apply(ServerEvent(name: "network", data: #"{"online":false,"switchable":true}"#))
        #expect(view.conflictCount == 2)
        #expect(!view.isOnline)
    }
}
