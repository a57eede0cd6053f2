// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import SystemSupport

/// Secrets of commands, from files or the environment. They can't be arguments, which other users of the machine see.
enum SecretText {
    /// - Throws: `CommandError` for a missing secret, and for a file that others may read.
    static func read(file: String?, variable: String, environment: [String: String], what: String, flag: String) throws -> String {
        let text: String
        if let file {
            guard let stamp = FileStamp(path: file), let content = try? String(contentsOfFile: file, encoding: .utf8) else {
                throw NamedFile.unreadable(file, "of \(flag)")
            }
            guard !stamp.isOpenToOthers else { throw CommandError("Other users may read the file \(file): run 'chmod 600 \(file)' first.") }
            text = content
        } else if let value = environment[variable] {
            text = value
        } else {
            throw CommandError("The command needs \(what): set \(variable), or name a file with \(flag).")
        }
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !trimmed.isEmpty, trimmed.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), trimmed.utf8.count <= 16_384 else {
            throw CommandError("\(file ?? variable) is not one line of printable characters: copy the secret again.")
        }
        return trimmed
    }

    /// Trusts the authorities of `TARN_CA_CERTIFICATE` as well, as other commands do.
    static func trust(_ environment: [String: String]) throws -> ServerTrust {
        guard let path = environment["TARN_CA_CERTIFICATE"], !path.isEmpty else { return .system }
        return try ServerTrust(authorities: path)
    }
}
