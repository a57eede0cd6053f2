// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudServer
import Foundation
import Glibc
import SystemSupport

/// Shows the link that makes the first operator to the person who starts the server, and to nobody else: on a terminal, or else in a file
/// of its owner. Standard output of a service goes to a journal that other accounts of the machine may read.
struct FirstRunLink {
    /// The file in the data folder.
    static let fileName = "first-run-link"

    let data: String
    let isTerminal: Bool

    init(data: String, isTerminal: Bool = isatty(STDOUT_FILENO) != 0) {
        self.data = data
        self.isTerminal = isTerminal
    }

    private var path: String { "\(data)/\(Self.fileName)" }

    /// Shows a link in place of an earlier one.
    ///
    /// - Returns: The line for standard output.
    func show(_ link: String) throws -> String {
        remove()
        let sentence = "tarn: no operator yet. Make one within an hour at this one-time link"
        if isTerminal { return "\(sentence): \(link)" }
        try DurableFile.create(path) { try DurableFile.write(Data((link + "\n").utf8), to: $0) }
        return "\(sentence), in a file that only its owner can read: \(path)"
    }

    /// Removes the file of a link that has ended.
    func remove() { _ = unlink(path) }
}
