// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Writes the files of a folder as Swift source: an enum with a case for each file and its text as a `StaticString`.
///
/// A resource bundle would have to ship with the executable, and SwiftPM's `.embedInCode` compiles slowly.
@main struct WebEmbed {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 2, let folder = arguments.first, let output = arguments.last else {
            fail("usage: webembed FOLDER OUTPUT")
        }
        do {
            let source = try source(of: URL(fileURLWithPath: folder, isDirectory: true))
            // A file with the same bytes is left alone, so that nothing is rebuilt because of it.
            if FileManager.default.contents(atPath: output) == Data(source.utf8) { return }
            try Data(source.utf8).write(to: URL(fileURLWithPath: output), options: .atomic)
        } catch {
            fail("webembed: error: \(error)")
        }
    }

    private static func fail(_ message: String) -> Never {
        FileHandle.standardError.write(Data((message + "\n").utf8))
        exit(1)
    }

    struct Unsuitable: Error, CustomStringConvertible {
        let description: String
    }

    private static func source(of folder: URL) throws -> String {
        let names = (FileManager.default.enumerator(atPath: folder.path)?.allObjects ?? []).compactMap { $0 as? String }.sorted()
        var cases: [String] = []
        var texts: [String] = []
        var identifiers: Set<String> = []
        for name in names {
            var isFolder: ObjCBool = false
            let file = folder.appendingPathComponent(name)
            if FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder), isFolder.boolValue { continue }
            let identifier = identifier(of: name)
            guard identifiers.insert(identifier).inserted else {
                throw Unsuitable(description: "\(name): two files have the case '\(identifier)'")
            }
            cases.append("    case \(identifier) = \"\(name)\"")
            texts.append("        case .\(identifier):\n            \(try literal(Data(contentsOf: file), name))")
        }
        return """
            // Generated from the files of \(folder.lastPathComponent) by webembed.

            enum WebFile: String, CaseIterable {
            \(cases.joined(separator: "\n"))

                var text: StaticString {
                    switch self {
            \(texts.joined(separator: "\n"))
                    }
                }
            }

            """
    }

    /// `console-cloud.js` is `consoleCloudJs`.
    private static func identifier(of name: String) -> String {
        let words = name.split { !($0.isLetter || $0.isNumber) }.map(String.init)
        return words.enumerated().map { $0.offset == 0 ? $0.element : $0.element.prefix(1).uppercased() + $0.element.dropFirst() }.joined()
    }

    /// A literal that holds the bytes as they are: raw, with more number signs than any run of them in the text.
    private static func literal(_ bytes: Data, _ name: String) throws -> String {
        guard let text = String(data: bytes, encoding: .utf8) else { throw Unsuitable(description: "\(name): is not UTF-8") }
        guard !bytes.contains(0), !bytes.contains(UInt8(ascii: "\r")) else {
            throw Unsuitable(description: "\(name): a literal can't hold a carriage return or a null byte")
        }
        var (longest, run) = (0, 0)
        for byte in bytes {
            run = byte == UInt8(ascii: "#") ? run + 1 : 0
            longest = max(longest, run)
        }
        let signs = String(repeating: "#", count: longest + 1)
        // The closing delimiter stands in the first column: no indentation is removed from the lines.
        return "\(signs)\"\"\"\n\(text)\n\"\"\"\(signs)"
    }
}
