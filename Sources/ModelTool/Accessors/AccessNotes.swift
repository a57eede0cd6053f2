// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Access notes, which make the compiler accept `@objc` without Objective-C.
///
/// Source: "Access notes" in the Swift compiler's sources (docs/HowToGuides, `-access-notes-path`).
package enum AccessNotes {
    /// - Returns: YAML; the same names in any order give the same text.
    package static func text(for declarations: [SourceIndex.Exposed]) -> String {
        let names = Set(declarations.map(\.name)).sorted()
        let reason = "Reason: 'Objective-C interoperability is not available on this platform'\n"
        if names.isEmpty { return reason + "Notes: []\n" }
        return reason + "Notes:\n" + names.map { "- Name: '\($0)'\n  ObjC: false\n" }.joined()
    }
}
