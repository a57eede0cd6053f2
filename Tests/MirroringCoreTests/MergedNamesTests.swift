// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import MirroringCore
import Testing

/// The names of superseded records in a record.
@Suite struct MergedNamesTests {
    private func names(_ text: String) -> MergedNames { MergedNames(text) }

    @Test func mergedNamesHaveOneTextOnEveryDevice() {
        var (one, other) = (MergedNames(), MergedNames())
        for name in ["B", "A", "C"] { one.insert(name) }
        other.formUnion(names("C:B"))
        other.insert("A")
        #expect(one.text == "A:B:C")
        #expect(one == other)
        #expect(one == names("C:A::B"))
        #expect(MergedNames().text == nil)
        #expect(names("") == MergedNames())
    }

    @Test func invalidNamesAreNotMerged() {
        var merged = names("A")
        for name in ["", "B:C"] { merged.insert(name) }
        #expect(merged.text == "A")
    }

    @Test func theNumberOfMergedNamesIsLimitedRegardlessOfOrder() {
        let all = (0..<150).map { "N\(1000 + $0)" }
        let merged = MergedNames(all.reversed())
        #expect(merged.names == Set(all.prefix(MergedNames.countMax)))
        #expect(merged == MergedNames(all))
        #expect(merged == names(all.joined(separator: ":")))
        var united = MergedNames(all.suffix(100))
        united.formUnion(MergedNames(all.prefix(100)))
        #expect(united == merged)
    }

    @Test(arguments: [
        ("", "A", "B", "A:B"), ("A", "A:B", "A:C", "A:B:C"), ("A:B", "A", "A:B:C", "A:C"), ("A:B", "A:B", "B", "B"), ("A", "", "", ""),
    ])
    func mergedNamesAreMergedByName(before: String, here: String, there: String, expected: String) {
        #expect(names(here).merged(with: names(there), since: names(before)) == names(expected))
    }
}
