// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A request or answer with one JSON object as its body.
package protocol WireMessage: Hashable, Sendable {
    /// The body in UTF-8: no white space, keys in a fixed order, fields of records sorted by name, so that equal
    /// messages give equal bytes.
    func encoded() -> [UInt8]

    /// Reads a body. Unknown keys are passed over, and a key whose value is null counts as absent.
    ///
    /// - Throws: `WireError` with `.badRequest`; its reason says what is wrong, at which key path and byte.
    init(json: [UInt8]) throws(WireError)
}
