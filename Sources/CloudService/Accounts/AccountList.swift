// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine

/// Where a page of accounts is, in the order of their names.
package enum AccountCursor: Hashable, Sendable {
    case start
    /// The page begins after a name.
    case after(String)
    /// The page ends before a name.
    case before(String)

    /// The cursor, or the start if its name doesn't begin with a prefix.
    package func within(_ prefix: String) -> AccountCursor {
        switch self {
        case .start: .start
        case .after(let name), .before(let name): name.utf8.starts(with: prefix.utf8) ? self : .start
        }
    }

    /// A text after all names that begin with a prefix, in the order of their bytes.
    package static func end(of prefix: String) -> String { prefix + "\u{10FFFF}" }
}

/// Accounts of the server, a page at a time.
package protocol AccountListStorage: Sendable {
    /// Accounts by name, limited to names with a prefix.
    ///
    /// - Parameter cursor: A name without the prefix reads the first page.
    func profiles(named prefix: String, _ cursor: AccountCursor, limit: Int) async throws -> [AccountProfile]
    /// Some accounts with their devices, by name. Unknown names are skipped.
    func users(named names: [String]) async throws -> [Account]
    /// Usage of some accounts' private databases that store something.
    func usage(ofUsers names: [String]) async throws -> [DatabaseUsage]
}
