// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Testing

@Suite struct CombiningMarksTests {
    private static let most = CombiningMarks.inARowMax

    private static func json(_ content: String) -> [UInt8] { Array(#"{"recordName":"a\#(content)","fields":{}}"#.utf8) }

    /// U+0F73 is a letter by its class, and decomposes to two marks.
    @Test(arguments: ["\u{301}", "\u{5B0}", "\u{F73}", "\u{1D165}"])
    func runsOfMarksAreLimited(_ mark: String) {
        let allowed = String(repeating: mark, count: Self.most)
        let excessive = String(repeating: mark, count: Self.most + 1)
        #expect(!CombiningMarks.areExcessive(in: "a" + allowed))
        #expect(CombiningMarks.areExcessive(in: "a" + excessive))
        #expect(!CombiningMarks.areExcessive(inJSON: Self.json(allowed)))
        #expect(CombiningMarks.areExcessive(inJSON: Self.json(excessive)))
    }

    @Test(arguments: [#"\u0301"#, #"\ud834\uDD65"#])
    func escapesCountAsTheMarksThatTheyAre(_ escape: String) {
        #expect(!CombiningMarks.areExcessive(inJSON: Self.json(String(repeating: escape, count: Self.most))))
        #expect(CombiningMarks.areExcessive(inJSON: Self.json(String(repeating: escape, count: Self.most + 1))))
        // In text that is not JSON, they are letters.
        #expect(!CombiningMarks.areExcessive(in: String(repeating: escape, count: Self.most + 1)))
    }

    @Test(arguments: ["b", "\u{E4}", "\u{6F22}", "\",\"", "12345678", #"\n"#, #"\u0061"#])
    func lettersEndARun(_ letter: String) {
        let run = String(repeating: "\u{323}", count: Self.most)
        #expect(!CombiningMarks.areExcessive(inJSON: Self.json([run, run, run].joined(separator: letter))))
    }

    @Test(arguments: [#""\"#, #""\u"#, #""\u03"#, #""\ud834\u"#, #""\ud834\u0301"#])
    func incompleteEscapesAtTheEndAreNotMarks(_ end: String) {
        let body = Self.json(String(repeating: "b", count: 2 * Self.most)) + Array(end.utf8)
        #expect(!CombiningMarks.areExcessive(inJSON: body))
        #expect(!CombiningMarks.areExcessive(inJSON: body + [0xCC]))
    }
}
