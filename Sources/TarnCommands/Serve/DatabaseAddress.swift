// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Foundation

/// The value of `--database`.
///
/// An error about an ambiguous address must not show it: the apparent host may be part of a password.
struct DatabaseAddress: Hashable, Sendable {
    /// With the password, if it has one: for the connection only.
    let text: String

    /// - Throws: `CommandError` for another scheme or an ambiguous address.
    init(_ text: String) throws {
        guard let scheme = ["postgres://", "postgresql://"].first(where: { text.hasPrefix($0) }) else {
            throw CommandError("A database is named as postgres://user@host:port/name; the address given does not begin with postgres://.")
        }
        let authority = text.dropFirst(scheme.count).prefix { $0 != "/" && $0 != "?" }
        // libpq reads the text behind the first @ as the host, and shows it.
        guard authority.count(where: { $0 == "@" }) <= 1 else {
            throw CommandError("The database's address '\(Self.shown(text))' has two @: write one in a name or password as %40.")
        }
        guard text.count(where: { $0 == "@" }) == authority.count(where: { $0 == "@" }) else {
            throw CommandError(
                "The database's address has an @ behind a / or a ?: in names and passwords, write @ as %40, / as %2F and ? as %3F.")
        }
        let hosts = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        for host in hosts.split(separator: ",") {
            let port = host.hasPrefix("[") ? host.split(separator: "]").dropFirst().joined() : String(host.drop { $0 != ":" })
            guard port.isEmpty || port == ":" || UInt16(port.dropFirst()) != nil else {
                throw CommandError(
                    "The port in the database's address is no number: the address is postgres://user@host:port/name, without a user postgres://host/name."
                )
            }
        }
        self.text = text
    }

    /// Without the password.
    var shown: String { Self.shown(text) }

    /// Parameters with a visible value. Text behind an unescaped & may be part of a password.
    private static let plainParameters: Set = ["connect_timeout", "dbname", "host", "hostaddr", "port", "sslmode", "user"]

    private static func shown(_ text: String) -> String {
        let parts = text.replacing(/:\/\/([^:@\/]*):[^\/]*@/) { "://\($0.1)@" }.split(separator: "?", maxSplits: 1)
        guard parts.count == 2 else { return parts.joined() }
        let parameters = parts[1].split(separator: "&").map { parameter in
            let words = parameter.split(separator: "=", maxSplits: 1)
            return words.count == 2 && plainParameters.contains(String(words[0])) ? String(parameter) : "…"
        }
        return "\(parts[0])?\(parameters.joined(separator: "&"))"
    }
}
