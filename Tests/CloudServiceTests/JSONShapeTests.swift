// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import Testing

@Suite struct JSONShapeTests {
    @Test(arguments: [
        ("{}", 0), ("[]", 1), ("[1,2,3]", 3), (#"{"a":[1,[2,3,4,5],6],"b":1,"c":2,"d":3,"e":4}"#, 4), (#"["a,b,c\",[,","d"]"#, 2),
        (#"[{"a":1,"b":2,"c":3},{"a":[1,2]}]"#, 2), (#"["\\","b","c"]"#, 3), ("[1,2", 2), (#"["open,,,,"#, 1), (#"["\"#, 1),
    ])
    func longestList(_ text: String, _ count: Int) { #expect(JSONShape.longestList(in: Array(text.utf8)) == count) }

    @Test func deepTextsEndTheScan() {
        #expect(JSONShape.longestList(in: Array(String(repeating: "[", count: 100_000).utf8)) == 1)
    }
}
