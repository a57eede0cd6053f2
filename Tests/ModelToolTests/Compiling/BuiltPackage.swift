// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The products of the build that these tests are part of, for programs that are compiled against them by one call of the
/// compiler.
struct BuiltPackage {
    /// The compiler, and its arguments to import and link `CoreData`.
    let compiler: URL
    let arguments: [String]

    /// - Returns: nil without a description of the build next to this program.
    static let current: BuiltPackage? = {
        guard let program = Bundle.allBundles.first?.executableURL ?? Bundle.main.executableURL else { return nil }
        // The folder of products, under its plain name or that of the platform.
        let products = URL(fileURLWithPath: CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? program.path)
            .deletingLastPathComponent()
        let configuration = products.lastPathComponent
        let descriptions = [products.deletingLastPathComponent(), products.deletingLastPathComponent().deletingLastPathComponent()]
        let text = descriptions.lazy.compactMap { try? String(contentsOf: $0.appending(path: "\(configuration).yaml"), encoding: .utf8) }
            .first
        let objects = products.appending(path: "posts.product/Objects.LinkFileList")
        guard let text, let list = try? String(contentsOf: objects, encoding: .utf8), let call = call(in: text) else { return nil }
        // The sample's library is linked with all that CoreData is made of; its own program has another main.
        let linked = list.split(separator: "\n").map { $0.trimmingCharacters(in: ["'", "\""]) }.filter {
            !$0.contains("/posts.build/") && !$0.contains("/PostsApp.build/")
        }
        return BuiltPackage(
            compiler: URL(fileURLWithPath: call[0]), arguments: flags(of: call) + linked + ["-L", products.path, "-lstdc++", "-lm", "-lz"])
    }()

    /// The call of the compiler for the sample's library.
    private static func call(in description: String) -> [String]? {
        let lines = description.split(separator: "\n", omittingEmptySubsequences: false)
        guard let start = lines.firstIndex(where: { $0.hasPrefix("  \"C.PostsApp-") && $0.hasSuffix(".module\":") }) else { return nil }
        guard let line = lines[start...].first(where: { $0.hasPrefix("    args: ") }) else { return nil }
        return try? JSONDecoder().decode([String].self, from: Data(line.dropFirst("    args: ".count).utf8))
    }

    /// Where modules are found, and the sanitizers that they were built with.
    private static func flags(of call: [String]) -> [String] {
        var flags: [String] = []
        for (flag, value) in zip(call, call.dropFirst()) {
            if ["-I", "-Xcc", "-target", "-module-cache-path"].contains(flag), flags.last != "-Xcc" || flag != "-I" {
                flags += [flag, value]
            }
            if flag.hasPrefix("-sanitize") { flags.append(flag) }
        }
        return flags
    }

    /// - Returns: The compiler's output if it failed.
    func compile(_ sources: [URL], to program: URL) throws -> String? {
        let files = program.deletingPathExtension().appendingPathExtension("arguments")
        let all =
            arguments + sources.map(\.path) + [
                "-module-name", "Generated", "-emit-executable", "-o", program.path, "-swift-version", "6", "-Onone", "-warnings-as-errors",
                "-enable-upcoming-feature", "ExistentialAny", "-enable-upcoming-feature", "InternalImportsByDefault",
                "-enable-upcoming-feature", "MemberImportVisibility",
            ]
        try Data(all.map { "\"\($0)\"" }.joined(separator: "\n").utf8).write(to: files)
        let result = try run(compiler, ["@\(files.path)"])
        return result.code == 0 ? nil : result.text
    }

    func run(_ program: URL, _ arguments: [String]) throws -> (code: Int32, text: String) {
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        let output = Pipe()
        (process.standardOutput, process.standardError) = (output, output)
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }
}
