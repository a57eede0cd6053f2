// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation
package import ModelFile

/// A model file in a temporary folder, which is removed with this object.
package final class ModelFolder {
    package let folder: URL
    package let url: URL

    /// - Parameters:
    ///   - versions: Version name to the text of its `contents`.
    ///   - current: The text of `.xccurrentversion`'s value, or nil for no such file.
    package init(_ name: String = "Shop", versions: [String: String], current: String? = nil) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "models-\(UUID().uuidString)")
        url = folder.appending(path: "\(name).xcdatamodeld")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        for (version, text) in versions {
            let inside = url.appending(path: "\(version).xcdatamodel")
            try FileManager.default.createDirectory(at: inside, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: inside.appending(path: "contents"))
        }
        if let current {
            let list =
                "<plist version=\"1.0\"><dict><key>_XCCurrentVersionName</key><string>\(current)</string></dict></plist>"
            try Data(list.utf8).write(to: url.appending(path: ".xccurrentversion"))
        }
    }

    /// One version with `body` inside of its `model` element, which starts on line 1; `body` starts on line 2.
    package convenience init(body: String) throws {
        try self.init(versions: ["Shop": "<model userDefinedModelVersionIdentifier=\"\">\n\(body)\n</model>"])
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    package func read(module: String? = nil) throws -> ModelFileContents {
        try ModelFileReader.read(contentsOf: url, module: module)
    }
}

/// Findings without the path of their file.
package func lines(_ diagnostics: [Diagnostic]) -> [String] {
    diagnostics.map { "\($0.line.map(String.init) ?? "-") \($0.severity.rawValue): \($0.message)" }
}

/// The findings of reading a model, whether or not it succeeds.
package func findings(_ read: () throws -> ModelFileContents) rethrows -> [String] {
    do {
        return lines(try read().warnings)
    } catch let error as ModelFileError {
        return lines(error.diagnostics)
    }
}

package enum Package {
    package static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    package static let posts = root.appending(path: "Examples/Posts/App/Posts.xcdatamodeld")

    /// Models of stores that Apple's framework wrote, each version on its own.
    package static let models: [URL] = {
        let stores = root.appending(path: "../shared/fixtures/apple-stores").standardizedFileURL
        let inside = FileManager.default.enumerator(at: stores, includingPropertiesForKeys: nil)?.allObjects ?? []
        return inside.compactMap { $0 as? URL }.filter { $0.pathExtension == "xcdatamodel" }.sorted {
            $0.path < $1.path
        }
    }()
}
