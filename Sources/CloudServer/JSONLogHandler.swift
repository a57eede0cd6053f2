// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
package import Logging

/// Writes each log event as a JSON object on a line of its own.
package struct JSONLogHandler: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var logLevel = Logger.Level.info
    private let write: @Sendable (String) -> Void

    /// - Parameter write: Receives a line, including its newline.
    package init(write: @escaping @Sendable (String) -> Void) {
        self.write = write
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var members = [("time", Self.time(.now)), ("level", event.level.rawValue), ("message", "\(event.message)")]
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        members += all.map { ($0.key, "\($0.value)") }.sorted { $0.0 < $1.0 }
        write("{" + members.map { "\(Self.quoted($0.0)):\(Self.quoted($0.1))" }.joined(separator: ",") + "}\n")
    }

    private static func time(_ date: Date) -> String { date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }

    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case _ where scalar.value < 32 || (0x7F...0x9F).contains(scalar.value):
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
