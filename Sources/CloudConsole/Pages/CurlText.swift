// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// A request of the protocol as a command for a shell. The credential is a variable, never a token.
enum CurlText {
    static func command(_ operation: ServicePath.Operation, _ scope: DatabaseScope, _ body: [UInt8], _ parent: ContainerPages) -> String {
        let path = ServicePath(containerIdentifier: parent.container, environment: parent.environment, scope: scope, operation: operation)
        let address = (parent.pages.console.serviceAddress ?? parent.visit.request.baseURL) + path.path
        return
            "curl -X \(operation.method) \(quoted(address)) \\\n  -H \"Authorization: Bearer $TARN_TOKEN\" \\\n  -d \(quoted(String(decoding: body, as: UTF8.self)))"
    }

    /// One word for a POSIX shell.
    ///
    /// Of bytes: a quotation mark with a combining mark is another character of Swift, and ends the word in a shell.
    static func quoted(_ text: String) -> String {
        let (quote, escaped) = (UInt8(ascii: "'"), Array(#"'\''"#.utf8))
        let bytes = text.utf8.flatMap { $0 == quote ? escaped : [$0] }
        return "'\(String(decoding: bytes, as: UTF8.self))'"
    }
}

/// JSON with line breaks.
enum JSONText {
    /// Indents JSON that is valid; other bytes come out in some way.
    static func indented(_ bytes: [UInt8]) -> String {
        var result: [UInt8] = []
        var (depth, isString, isEscaped) = (0, false, false)
        func newLine() {
            result.append(UInt8(ascii: "\n"))
            result += [UInt8](repeating: UInt8(ascii: " "), count: 2 * max(0, depth))
        }
        for (index, byte) in bytes.enumerated() {
            if isString {
                result.append(byte)
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isString = false
                }
                continue
            }
            let next = index + 1 < bytes.count ? bytes[index + 1] : 0
            switch byte {
            case UInt8(ascii: "\""):
                isString = true
                result.append(byte)
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                result.append(byte)
                if next != UInt8(ascii: "}"), next != UInt8(ascii: "]") { newLine() }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if let last = result.last, last != UInt8(ascii: "{"), last != UInt8(ascii: "[") { newLine() }
                result.append(byte)
            case UInt8(ascii: ","):
                result.append(byte)
                newLine()
            case UInt8(ascii: ":"): result += [byte, UInt8(ascii: " ")]
            default: result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
