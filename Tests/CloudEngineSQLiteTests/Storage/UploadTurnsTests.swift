// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import Testing

@testable import CloudStorageSupport

/// Requests that go on with uploads.
@Suite struct UploadTurnsTests {
    @Test func aNewerUploadSupersedesAnOlderOne() throws {
        let turns = UploadTurns()
        let (older, newer) = (turns.take("film"), turns.take("film"))
        #expect(throws: WireError.self) { try older.run {} }
        turns.end(older)
        try newer.run {}
        turns.end(newer)
        try turns.take("film").run {}
    }

    @Test func uploadsDoNotWaitForEachOther() throws {
        let turns = UploadTurns()
        let (film, song) = (turns.take("film"), turns.take("song"))
        let isDone = DispatchSemaphore(value: 0)
        try film.run {
            Thread.detachNewThread {
                try? song.run {}
                isDone.signal()
            }
            #expect(isDone.wait(timeout: .now() + 10) == .success)
        }
    }
}
