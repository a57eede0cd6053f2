// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Record names that the caller generated, so that decisions are repeatable.
package struct NewRecordNames: Sendable {
    private var names: ArraySlice<String>

    package init(_ names: [String]) { self.names = names[...] }

    mutating func next() -> String {
        guard let name = names.popFirst() else {
            preconditionFailure("fewer record names were supplied than the decision said it may need")
        }
        return name
    }
}
