// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Testing

/// A stored text that a test compares its result with.
///
/// `TARN_WRITE_GOLDEN=1` in the environment of the test run writes missing and changed files; look at the difference before you commit it.
struct GoldenFile {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Golden")

    let name: String

    init(_ name: String) { self.name = name }

    private static let isWriting = ProcessInfo.processInfo.environment["TARN_WRITE_GOLDEN"] != nil

    /// Records an issue with the first different line.
    func expect(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) {
        let url = Self.folder.appendingPathComponent(name)
        let stored = try? String(contentsOf: url, encoding: .utf8)
        if stored == text { return }
        let command = "TARN_WRITE_GOLDEN=1 make quick ONLY=TarnCommandsTests"
        if Self.isWriting {
            try? FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try? Data(text.utf8).write(to: url)
            return
        }
        guard let stored else {
            Issue.record("Golden/\(name) does not exist: write it with '\(command)', and read it.", sourceLocation: sourceLocation)
            return
        }
        let (old, new) = (
            stored.split(separator: "\n", omittingEmptySubsequences: false), text.split(separator: "\n", omittingEmptySubsequences: false)
        )
        let line = zip(old, new).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? min(old.count, new.count)
        let (was, now) = (line < old.count ? old[line] : "(end)", line < new.count ? new[line] : "(end)")
        Issue.record(
            """
            Golden/\(name), line \(line + 1), differs. If the change is meant, write the file with '\(command)', and look at the difference.
            stored: \(was)
            now:    \(now)
            """, sourceLocation: sourceLocation)
    }
}
