// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ModelFile
import ModelFolders
import ModelTool
import Testing

/// Compares with the files in `Golden`. `REWRITE_GOLDEN=1 swift test --filter GoldenTests` rewrites them.
@Suite struct GoldenTests {
    @Test func theSampleModelBecomesTheSwiftThatWasReviewed() throws {
        let compilation = try ModelFileReader.read(contentsOf: Package.posts, module: "PostsApp")
        #expect(compilation.warnings.isEmpty)
        let source = try SwiftWriter(compilation, module: "PostsApp").source()
        try expect(source, isGolden: "Posts+CoreDataModel.swift.txt")
    }

    @Test func aModelWithEveryKindOfPropertyBecomesTheSwiftThatWasReviewed() throws {
        let model = try ModelFolder(versions: ["Library": libraryExample])
        let compilation = try model.read()
        let source = try SwiftWriter(compilation, module: nil).source()
        try expect(source, isGolden: "Library+CoreDataModel.swift.txt")
    }

    private func expect(_ text: String, isGolden name: String) throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/\(name)")
        if ProcessInfo.processInfo.environment["REWRITE_GOLDEN"] == "1" { try Data(text.utf8).write(to: file) }
        let golden = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        let difference = text.split(separator: "\n").difference(from: golden.split(separator: "\n"))
        #expect(difference.isEmpty, "generated Swift differs from Golden/\(name)")
        #expect(text == golden, "generated Swift differs from Golden/\(name)")
    }
}
