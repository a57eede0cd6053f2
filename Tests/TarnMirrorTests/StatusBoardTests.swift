// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Testing

@testable import TarnMirror

/// The status of a mirror, and its readers.
@Suite struct StatusBoardTests {
    private func status(_ activity: TarnMirror.Status.Activity) -> TarnMirror.Status {
        TarnMirror.Status(activity: activity, pendingCount: 0)
    }

    @Test func aSlowReaderReceivesTheLatestStatus() async {
        let board = StatusBoard()
        var reader = board.updates().makeAsyncIterator()
        for activity in [TarnMirror.Status.Activity.starting, .importing(done: 0, total: nil), .idle] { board.post(status(activity)) }
        #expect(await reader.next() == status(.idle))
    }

    /// A report may be on its way to the board when the mirror is stopped.
    @Test func noStatusFollowsTheLastOne() async {
        let board = StatusBoard()
        var reader = board.updates().makeAsyncIterator()
        board.post(status(.idle))
        board.end(with: status(.stopped))
        board.post(status(.idle))
        #expect(board.current == status(.stopped))
        #expect(await reader.next() == status(.stopped))
    }
}
