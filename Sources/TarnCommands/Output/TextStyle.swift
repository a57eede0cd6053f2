// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Colours and weights, on a terminal that shows them.
struct TextStyle: Equatable {
    var isColoured: Bool

    static let plain = TextStyle(isColoured: false)
    /// Style of standard output.
    static let output = TextStyle(isTerminal: isatty(STDOUT_FILENO) != 0, environment: ProcessInfo.processInfo.environment)

    init(isColoured: Bool) { self.isColoured = isColoured }

    /// Source: no-color.org: `NO_COLOR` counts if it isn't empty.
    init(isTerminal: Bool, environment: [String: String]) {
        let isRefused = environment["NO_COLOR"]?.isEmpty == false || environment["TERM"] == "dumb"
        isColoured = isTerminal && !isRefused
    }

    func heading(_ text: String) -> String { wrap(text, "1") }
    func good(_ text: String) -> String { wrap(text, "32") }
    func bad(_ text: String) -> String { wrap(text, "31") }
    func warning(_ text: String) -> String { wrap(text, "33") }
    func faint(_ text: String) -> String { wrap(text, "2") }

    private func wrap(_ text: String, _ code: String) -> String { isColoured ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text }
}
