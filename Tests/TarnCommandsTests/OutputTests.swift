// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization
import Testing

@testable import TarnCommands

@Suite struct OutputTests {
    private var table: Table {
        var table = Table(("NAME", "name"), ("COUNT", "count"), ("SIZE", "bytes"), ("TAGS", "tags"))
        table.add(.text("mia"), .number(7), .bytes(1_540_000), .list(["a", "b"]))
        table.add(.text("a \u{1B}[31mred name"), .number(1200), .none, .list([]))
        return table
    }

    @Test func columnsAreAlignedAndNumbersAreOnTheRight() {
        #expect(
            table.text(.plain) == """
                NAME                  COUNT    SIZE  TAGS
                mia                       7  1.5 MB  a, b
                a \\u{1b}[31mred name   1200       -  -
                """)
    }

    @Test func rowsAreJSONObjects() {
        #expect(
            table.jsonLines == [
                #"{"name":"mia","count":7,"bytes":1540000,"tags":["a","b"]}"#,
                #"{"name":"a \u001b[31mred name","count":1200,"bytes":null,"tags":[]}"#,
            ])
    }

    @Test func aCountThatEndedAtABoundHasASignForPeopleAndAColumnForPrograms() {
        var table = Table(("NAME", "name"), ("COUNT", "count"), ("", "isPartial"))
        table.add(.text("notes"), .atLeast(1000), .flag(true))
        table.add(.text("photos"), .number(7), .flag(false))
        #expect(
            table.text(.plain) == """
                NAME    COUNT
                notes   1000+
                photos      7
                """)
        #expect(
            table.jsonLines == [
                #"{"name":"notes","count":1000,"isPartial":true}"#, #"{"name":"photos","count":7,"isPartial":false}"#,
            ])
    }

    @Test func coloursAreForTerminals() {
        #expect(TextStyle(isTerminal: true, environment: [:]).good("ok") == "\u{1B}[32mok\u{1B}[0m")
        for style in [
            TextStyle(isTerminal: false, environment: [:]), TextStyle(isTerminal: true, environment: ["NO_COLOR": "1"]),
            TextStyle(isTerminal: true, environment: ["TERM": "dumb"]),
        ] {
            #expect(style.good("ok") == "ok")
        }
        #expect(TextStyle(isTerminal: true, environment: ["NO_COLOR": ""]).isColoured)
    }

    @Test func sizesHaveDecimalUnits() {
        #expect(
            [0, 999, 1000, 1_540_000, 999_949, 5_000_000_000, .max].map { ByteText.text($0) }
                == ["0 B", "999 B", "1.0 kB", "1.5 MB", "999.9 kB", "5.0 GB", "9223372036854775807 B"])
    }

    @Test func timesWithoutADateAreNumbers() {
        #expect(TimeText.utc(1_893_553_445_678) == "2030-01-02T03:04:05Z")
        #expect(TimeText.utc(.max) == "9223372036854775807")
    }

    @Test func progressIsShownRarelyAndOnTerminalsOnly() {
        final class Log: Sendable { let lines = Mutex([String]()) }
        let (shown, hidden) = (Log(), Log())
        let progress = ProgressLine(isEnabled: true) { text in shown.lines.withLock { $0.append(text) } }
        let start = ContinuousClock.now
        progress.show("Importing", 1, of: 4, "records", at: start)
        progress.show("Importing", 2, of: 4, "records", at: start + .milliseconds(50))
        progress.show("Importing", 3, of: 4, "records", at: start + .milliseconds(150))
        progress.end()
        #expect(
            shown.lines.withLock { $0 } == [
                "\r\u{1B}[KImporting 1 of 4 records (25 %)", "\r\u{1B}[KImporting 3 of 4 records (75 %)", "\r\u{1B}[K",
            ])
        let none = ProgressLine(isEnabled: false) { text in hidden.lines.withLock { $0.append(text) } }
        none.show("Importing", 1, of: 4, "records")
        none.end()
        #expect(hidden.lines.withLock { $0 }.isEmpty)
    }
}
