// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ModelFolders
import ModelTool
import Testing

@Suite struct PortScanTests {
    private let source = """
        import CoreData

        @objc(Post) public class Post: NSManagedObject {
            @objc
            func touch() {}
            @objc enum Kind: Int16 { case a }
            // #keyPath(Post.comment) in a comment, "#keyPath(x)" in quotes
            let text = "#keyPath(Post.text)"
            let name = #keyPath(Post.author.name)
            let format = "\\(#keyPath(title)) == %@"
            let action = #selector(touch)
        #if canImport(ObjectiveC)
            @objc func apple() {}
        #endif
        }
        @objcMembers class Other: NSObject {}
        let r = request as! NSFetchRequest<NSFetchRequestResult>
        """

    @Test func eachPlaceIsNamedWithItsLine() throws {
        let found = try #require(PortScan.obstacles(in: source, keepsAttributes: true))
        #expect(found.map(\.line) == [9, 10, 11, 16, 17])
        #expect(found.map(\.kind) == [.keyPath, .keyPath, .selector, .members, .erasedRequest])
        #expect(found.map { $0.edit == nil } == [false, false, true, false, true])
    }

    @Test func editsChangeTheirPlacesOnly() throws {
        let found = try #require(PortScan.obstacles(in: source, keepsAttributes: false))
        let ported = PortScan.applying(found, to: source)
        #expect(
            ported == """
                import CoreData

                #if canImport(ObjectiveC)
                @objc(Post)
                #endif
                public class Post: NSManagedObject {
                    #if canImport(ObjectiveC)
                    @objc
                    #endif
                    func touch() {}
                    @objc enum Kind: Int16 { case a }
                    // #keyPath(Post.comment) in a comment, "#keyPath(x)" in quotes
                    let text = "#keyPath(Post.text)"
                    let name = "author.name"
                    let format = "\\("title") == %@"
                    let action = #selector(touch)
                #if canImport(ObjectiveC)
                    @objc func apple() {}
                #endif
                }
                #if canImport(ObjectiveC)
                @objcMembers
                #endif
                class Other: NSObject {}
                let r = request as! NSFetchRequest<NSFetchRequestResult>
                """)
        // A second port changes nothing, and reports only the obstacles that need a decision.
        #expect(try #require(PortScan.obstacles(in: ported, keepsAttributes: false)).allSatisfy { $0.edit == nil })
    }

    @Test(arguments: [
        ("#selector(NSString.localizedStandardCompare(_:))", "Selector((\"localizedStandardCompare:\"))"),
        ("#selector(NSString.caseInsensitiveCompare)", "Selector((\"caseInsensitiveCompare:\"))"),
        ("#selector(NSNumber.compare(_:))", "Selector((\"compare:\"))"), ("#selector(Note.compare(_:))", nil),
        ("#selector(NSString.appending(_:))", nil),
    ])
    func comparisonsOfSortDescriptorsAreNamed(selector: String, replacement: String?) throws {
        let source = "import CoreData\nlet d = NSSortDescriptor(key: \"name\", ascending: true, selector: \(selector))"
        let found = try #require(PortScan.obstacles(in: source, keepsAttributes: true))
        #expect(found.map(\.kind) == [.selector])
        let ported = source.replacingOccurrences(of: selector, with: replacement ?? selector)
        #expect(PortScan.applying(found, to: source) == ported)
    }

    @Test(arguments: ["class A {", "func f(]", "#if A\nclass B {\n#else\n}\n#endif", "#endif", "}"])
    func aFileWhoseBracketsDoNotMatchIsNotPorted(text: String) {
        #expect(PortScan.obstacles(in: text, keepsAttributes: false) == nil)
    }

    @Test func branchesMayOpenTheSameBracket() {
        #expect(PortScan.obstacles(in: "#if A\nclass B {\n#else\nstruct B {\n#endif\n}", keepsAttributes: true) == [])
    }

    @Test func aFolderIsReadWithoutWhatWasBuilt() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (path, text) in [
            ("Sources/A.swift", "@objc class A: NSObject { let k = #keyPath(A.b) }"), ("Sources/Broken.swift", "class B {"),
            (".build/C.swift", "let k = #keyPath(A.b)"), ("Package.swift", "let k = #keyPath(A.b)"),
        ] {
            let url = folder.appending(path: path)
            try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: url)
        }
        let port = try SourcePort(folder, keepsAttributes: true)
        #expect(port.files.map(\.path) == ["Sources/A.swift"])
        #expect(port.unreadable == ["Sources/Broken.swift"])
        #expect(port.exposed.map(\.name) == ["A"])
        #expect(try port.write() == ["Sources/A.swift"])
        let text = try String(contentsOf: folder.appending(path: "Sources/A.swift"), encoding: .utf8)
        #expect(text == "@objc class A: NSObject { let k = \"b\" }")
        #expect(throws: (any Error).self) { try SourcePort(folder.appending(path: "gone"), keepsAttributes: true) }
    }
}
