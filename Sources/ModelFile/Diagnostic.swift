// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// One finding about a model file, printed the way compilers do, so that editors can jump to it.
package struct Diagnostic: Hashable, Sendable, CustomStringConvertible {
    package enum Severity: String, Sendable {
        case warning
        case error
    }

    package let severity: Severity
    /// Path of the file or folder that the finding is about.
    package let file: String
    /// From 1; nil when the finding is about the whole file.
    package let line: Int?
    /// A sentence that names entity and property.
    package let message: String

    package init(_ severity: Severity, file: String, line: Int? = nil, _ message: String) {
        self.severity = severity
        self.file = file
        self.line = line
        self.message = message
    }

    package var description: String {
        "\(file):\(line.map { "\($0):" } ?? "") \(severity.rawValue): \(message)"
    }
}

/// A model file could not be compiled: everything found in it, warnings included.
package struct ModelFileError: Error, Hashable, CustomStringConvertible {
    package let diagnostics: [Diagnostic]

    package init(_ diagnostics: [Diagnostic]) { self.diagnostics = diagnostics }

    package var errors: [Diagnostic] { diagnostics.filter { $0.severity == .error } }

    package var description: String { errors.map(\.description).joined(separator: "\n") }
}
