// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Testing

/// The site checks links too, at the end of a run; this finds a document that was renamed within a second.
@Suite struct DocumentLinkTests {
    private struct Document {
        let path: String
        let text: String
    }

    private static func documents() throws -> [Document] {
        let root = RepositoryFiles.root
        let top = try FileManager.default.contentsOfDirectory(atPath: root.path).filter { $0.hasSuffix(".md") }
        let folders = try ["Documentation", "Examples", "Packaging"].flatMap { folder in
            try FileManager.default.subpathsOfDirectory(atPath: root.appendingPathComponent(folder).path)
                .filter { $0.hasSuffix(".md") && !$0.contains(".build/") }.map { "\(folder)/\($0)" }
        }
        return try (top + folders).map { Document(path: $0, text: try RepositoryFiles.text(at: $0)) }
    }

    /// Files that a document links to, relative to it, without anchors. Code blocks and URLs of other hosts have no such links.
    private static func links(of document: Document) -> [String] {
        document.text.replacing(/```[\s\S]*?```/, with: "").matches(of: /\]\(([^)#\s]+)/).map { String($0.1) }
            .filter { !$0.contains(/^[a-z]+:/) }
    }

    @Test func documentsLinkToFilesThatExist() throws {
        let documents = try Self.documents()
        #expect(documents.count > 60)
        for document in documents {
            let folder = RepositoryFiles.root.appendingPathComponent(document.path).deletingLastPathComponent()
            for link in Self.links(of: document) {
                let file = folder.appendingPathComponent(link).standardizedFileURL.path
                #expect(FileManager.default.fileExists(atPath: file), "\(document.path) links to \(link)")
            }
        }
    }
}
