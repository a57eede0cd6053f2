// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Foundation

/// The value of `--database`.
struct DatabaseAddress: Hashable, Sendable {
    /// With the password, if it has one: for the connection only.
    let text: String

    /// - Throws: `CommandError` for another scheme.
    init(_ text: String) throws {
        guard ["postgres://", "postgresql://"].contains(where: { text.hasPrefix($0) }) else {
            throw CommandError("A database is named as postgres://user@host:port/name, which '\(Self.shown(text))' is not.")
        }
        // libpq would take what is behind the first one for the host, and show it.
        let authority = text.split(separator: "/", maxSplits: 2).dropFirst().first ?? ""
        guard authority.count(where: { $0 == "@" }) <= 1 else {
            throw CommandError("The database's address '\(Self.shown(text))' has two @: write one in a name or password as %40.")
        }
        self.text = text
    }

    /// Without the password.
    var shown: String { Self.shown(text) }

    private static func shown(_ text: String) -> String {
        text.replacing(/:\/\/([^:@\/]*):[^\/]*@/) { "://\($0.1)@" }.replacing(/([?&])password=[^&]*/) { "\($0.1)password=…" }
    }
}

extension CommandError {
    init(_ failure: StorageFailure, database: DatabaseAddress) {
        switch failure.code {
        case .newerFormat:
            self.init("The database \(database.shown) was written by a newer version of tarn: use that version or a newer one.")
        case .corrupt:
            self.init("The database \(database.shown) is damaged or not one of tarn (\(failure.what)): restore it from a backup.")
        default:
            self.init("The database \(database.shown) could not be used (\(failure.what)): check its address, and that the server runs.")
        }
    }
}
