// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import Foundation
import Testing

@testable import CloudConsole

/// The files of `Sources/CloudConsole/Web`, as they are embedded and served.
@Suite struct WebFileTests {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Sources/CloudConsole/Web")

    @Test func everyWebFileIsEmbeddedByteForByte() throws {
        let files = try #require(FileManager.default.enumerator(atPath: Self.folder.path)).compactMap { $0 as? String }
        let names = files.filter { !URL(fileURLWithPath: Self.folder.path + "/" + $0).hasDirectoryPath }
        #expect(Set(names.filter { $0.contains(".") }) == Set(WebFile.allCases.map(\.rawValue)))
        for file in WebFile.allCases {
            #expect(try Data(contentsOf: Self.folder.appendingPathComponent(file.rawValue)) == Data(file.bytes), "\(file.rawValue)")
        }
    }

    @Test(arguments: [
        (WebFile.cloudkitJs, "text/javascript; charset=utf-8", true), (.consoleJs, "text/javascript; charset=utf-8", false),
        (.consoleCss, "text/css; charset=utf-8", false), (.consoleSvg, "image/svg+xml", false),
        (.signinJs, "text/javascript; charset=utf-8", false),
    ])
    func webFilesAreServedWithTheirMediaType(_ file: WebFile, _ type: String, _ isPublic: Bool) throws {
        let response = try #require(Page.file(file))
        func header(_ name: String) -> String? { response.headers.first { $0.name.lowercased() == name }?.value }
        #expect(header("content-type") == type)
        #expect(header("x-content-type-options") == "nosniff")
        #expect(header("access-control-allow-origin") == (isPublic ? "*" : nil))
    }

    @Test func templatesAreNotServed() {
        let templates = WebFile.allCases.filter { $0.rawValue.hasPrefix("templates/") }
        #expect(templates.count > 15)
        for template in templates { #expect(Page.file(template) == nil) }
    }
}
