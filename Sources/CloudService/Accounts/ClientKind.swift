// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The kind of a client, by its `User-Agent`. A client may send any: the kind is for people, and no decision depends on it.
package enum ClientKind: String, CaseIterable, Hashable, Sendable {
    /// Tarn's `CloudKit` module: apps on Linux, and commands that use it.
    case cloudKit
    /// `TarnMirror`: apps on Apple's platforms.
    case mirror
    /// A command that sends requests by itself.
    case command
    /// A browser, with CloudKit JS.
    case browser
    case other

    private static let prefixes: [(prefix: String, kind: ClientKind)] = [
        ("Tarn/", .cloudKit), ("TarnMirror/", .mirror), ("tarn", .command), ("Mozilla/", .browser),
    ]

    package init(userAgent: String?) {
        guard let userAgent else {
            self = .other
            return
        }
        self = Self.prefixes.first { userAgent.utf8.starts(with: $0.prefix.utf8) }?.kind ?? .other
    }
}
