// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import SystemSupport
import Testing

@Suite struct SuggestionTests {
    @Test func nearNamesAreSuggested() {
        #expect(Suggestion.distance("serve", "srve") == 1)
        #expect(Suggestion.distance("ab", "ba") == 1)
        #expect(Suggestion.distance("", "abc") == 3)
        #expect(Suggestion.nearest(to: "Nots", among: ["Notes", "Users"]) == "Notes")
        #expect(Suggestion.nearest(to: "x", among: ["Notes"]) == nil)
        #expect(
            Suggestion.nearest(to: "iCloud.org.exmple.notes", among: ["iCloud.org.example.notes", "iCloud.org.example.posts"])
                == "iCloud.org.example.notes")
        #expect(Suggestion.nearest(to: String(repeating: "x", count: 5000), among: ["x"]) == nil)
    }
}
