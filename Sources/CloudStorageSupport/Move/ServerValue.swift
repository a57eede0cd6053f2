// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine

/// A value of the server outside of its tables of rows: keys, counts and epochs. SQLite has all of them in `meta`; PostgreSQL has some in
/// `counters`, and numbers as texts.
package enum ServerValue {
    package enum Form: Hashable, Sendable {
        case number, text, bytes
    }

    /// The key of the move's own state, which stays where it is.
    package static let moveKey = "move"
    /// The version of PostgreSQL's tables.
    package static let formatKey = "format"
    /// When they got it.
    package static let formatTimeKey = "format.time"
    /// Keys of values that are not moved.
    package static let local = [moveKey, formatKey, formatTimeKey]
    /// The count of revocations.
    package static let revocations = "revocations"
    /// The greatest number that an entry of the audit log had.
    package static let lastAudit = "audit.last"
    /// The greatest number that an API token had.
    package static let lastToken = "tokens.last"

    /// The identifier by which an S3-compatible store of assets knows its database.
    package static let assetOwner = "assets.owner"

    /// Exists while PostgreSQL has records whose sizes are not in the usage.
    package static let sizesToCount = "sizes.uncounted"

    /// Values that one of the databases derives from its rows: they may be greater in the destination.
    package static let derived: Set<String> = [lastAudit, lastToken]

    private static let forms: [String: Form] = [
        SealingKeys.firstKey: .bytes, "sealer.identity": .bytes, SealingKeys.currentKey: .number, "epoch.first": .number,
        "history": .text, assetOwner: .text, "removed.account": .number, "removed.part": .number, revocations: .number,
        lastAudit: .number, lastToken: .number, sizesToCount: .number,
    ]

    /// How both databases store a value.
    ///
    /// - Throws: `StorageFailure` with `.newerFormat` for an unknown one: its bytes could be read wrongly by the other database.
    package static func form(of key: String) throws(StorageFailure) -> Form {
        if let form = forms[key] { return form }
        if key.hasPrefix("sealer.made."), isNumber(key.dropFirst(12)) { return .number }
        if key.hasPrefix("sealer."), isNumber(key.dropFirst(7)) { return .bytes }
        if key.hasPrefix("removal."), isNumber(key.dropFirst(8)) { return .text }
        throw StorageFailure(.newerFormat, "a move does not know one of the server's values")
    }

    private static func isNumber(_ text: Substring) -> Bool { !text.isEmpty && text.allSatisfy { ("0"..."9").contains($0) } }
}
