// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ModelTool
import Testing

/// Repairs of `tarn port`, and the obstacles that it reports because they need a decision.
@Suite struct PortRepairTests {
    private func ported(_ files: [String: String]) throws -> (files: [String: String], left: [Obstacle]) {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in files {
            let file = folder.appending(path: name)
            try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        _ = try SourcePort(folder, keepsAttributes: true).write()
        let after = try SourcePort(folder, keepsAttributes: true).obstacles.map(\.obstacle)
        let texts = try files.keys.map { ($0, try String(contentsOf: folder.appending(path: $0), encoding: .utf8)) }
        return (Dictionary(uniqueKeysWithValues: texts), after)
    }

    @Test func overridesMoveFromExtensionsIntoTheirClass() throws {
        let result = try ported([
            "Note.swift": """
            import CoreData

            public class Note: NSManagedObject {
                @NSManaged var title: String
            }
            """,
            "Note+Life.swift": """
            import CoreData

            public extension Note {
                func before() {}

                /// Sets the title.
                override func awakeFromInsert() {
                    super.awakeFromInsert()
                    title = ""
                }
                override public func willSave() { before() }
            }
            """,
        ])
        #expect(result.left == [])
        #expect(
            result.files["Note.swift"] == """
                import CoreData

                public class Note: NSManagedObject {
                    @NSManaged var title: String

                    /// Sets the title.
                    public override func awakeFromInsert() {
                        super.awakeFromInsert()
                        title = ""
                    }

                    override public func willSave() { before() }
                }
                """)
        #expect(
            result.files["Note+Life.swift"] == """
                import CoreData

                public extension Note {
                    func before() {}

                }
                """)
    }

    @Test func overridesStayWhereAMoveWouldNotCompile() throws {
        let result = try ported([
            "Note.swift": "import CoreData\nclass Note: NSManagedObject {}\nclass Tag: NSManagedObject {}\n",
            "Life.swift": """
            import CoreData
            extension Note {
                private func secret() {}
                override func willSave() { secret() }
            }
            extension Generated {
                override func willSave() {}
            }
            extension Tag {
                #if DEBUG
                override func willSave() {}
                #endif
            }
            """,
        ])
        #expect(result.left.map(\.kind) == [.overrideInExtension, .overrideInExtension, .overrideInExtension])
        #expect(
            result.left.map(\.note) == [
                "it uses secret, which Note.swift cannot see",
                "no file here declares Generated: if a model generates it, set the entity's code generation to Category/Extension "
                    + "(codeGenerationType=\"category\") and write the class in your sources",
                "it stands in an #if",
            ])
    }

    @Test func overridesOfGeneratedClassesGetAClassOfTheirOwn() throws {
        func contents(_ more: String) -> String {
            """
            <model>
                <entity name="Item" representedClassName=".Item" codeGenerationType="class" isAbstract="YES"/>
                <entity name="Note" representedClassName="Note" parentEntity="Item" codeGenerationType="class">\(more)</entity>
                <entity name="Tag" representedClassName="Tag" codeGenerationType="category"/>
            </model>

            """
        }
        let result = try ported([
            "App.xcdatamodeld/App.xcdatamodel/contents": contents(""),
            "App.xcdatamodeld/App 2.xcdatamodel/contents": contents("<attribute name=\"a\"/>"),
            "Note+Life.swift": """
            import CoreData

            /// How notes live.
            extension Note {
                public override func awakeFromInsert() {
                    super.awakeFromInsert()
                }
                func helper() {}
            }
            """,
            "Note+Save.swift": """
            import CoreData

            extension Note {
                override func willSave() {}
            }

            extension Tag {
                override func willSave() {}
            }
            """,
        ])
        #expect(result.left.map(\.text) == ["Tag: override func willSave ( )"])
        #expect(
            result.files["Note+Life.swift"] == """
                import CoreData

                @objc(Note)
                public class Note: Item {
                    public override func awakeFromInsert() {
                        super.awakeFromInsert()
                    }

                    public override func willSave() {}
                }

                /// How notes live.
                extension Note {
                    func helper() {}
                }
                """)
        #expect(result.files["Note+Save.swift"]?.hasPrefix("import CoreData\n\nextension Note {\n}\n") == true)
        for (name, text) in result.files where name.hasSuffix("contents") {
            #expect(text.contains("parentEntity=\"Item\" codeGenerationType=\"category\">"), "\(name)")
            #expect(text.contains("representedClassName=\".Item\" codeGenerationType=\"class\""), "\(name)")
        }
    }

    @Test func castsOfAClassesOwnRequestBecomeChoices() throws {
        let result = try ported([
            "A.swift": """
            import CoreData
            let a = NSBatchDeleteRequest(fetchRequest: Note.fetchRequest() as! NSFetchRequest<NSFetchRequestResult>)
            let b = App.Note.fetchRequest() as! NSFetchRequest<any NSFetchRequestResult>
            let c = Note.fetchRequest() as? NSFetchRequest<NSFetchRequestResult>
            let d = request as! NSFetchRequest<Note>

            """
        ])
        #expect(
            result.files["A.swift"] == """
                import CoreData
                let a = NSBatchDeleteRequest(fetchRequest: Note.fetchRequest() as NSFetchRequest<NSFetchRequestResult>)
                let b = App.Note.fetchRequest() as NSFetchRequest<any NSFetchRequestResult>
                let c = Note.fetchRequest() as? NSFetchRequest<NSFetchRequestResult>
                let d = request as! NSFetchRequest<Note>

                """)
        #expect(result.left.map(\.kind) == [.erasedRequest, .erasedRequest])
        #expect(result.left.map(\.line) == [4, 5])
    }

    @Test func selectorObserversBecomeBlockObservers() throws {
        let result = try ported([
            "Observer.swift": """
            import CoreData
            class Observer {
                init(_ context: NSManagedObjectContext) {
                    NotificationCenter.default.addObserver(
                        self, selector: #selector(didSave(_:)), name: .NSManagedObjectContextDidSave, object: context)
                    NotificationCenter.default.addObserver(self, selector: #selector(Observer.reload), name: nil, object: nil)
                    center().addObserver(self, selector: #selector(handle(note:)), name: .X, object: nil)
                }
                deinit { NotificationCenter.default.removeObserver(self) }
                @objc func didSave(_ notification: Notification) {}
                @objc private func reload() {}
                @objc func handle(note: Notification) {}
            }
            """
        ])
        #expect(result.left == [])
        let text = try #require(result.files["Observer.swift"])
        #expect(
            text.contains(
                "        _ = NotificationCenter.default.addObserver(forName: .NSManagedObjectContextDidSave, object: context, queue: nil) { [weak self] notification in self?.didSave(notification) }\n"
            ))
        #expect(
            text.contains(
                "        _ = NotificationCenter.default.addObserver(forName: nil, object: nil, queue: nil) { [weak self] _ in self?.reload() }\n"
            ))
        #expect(
            text.contains(
                "        _ = center().addObserver(forName: .X, object: nil, queue: nil) { [weak self] notification in self?.handle(note: notification) }\n"
            ))
    }

    @Test(arguments: [
        ("let t = x.addObserver(other, selector: #selector(f), name: nil, object: nil)\nfunc f() {}", "the observer is not self"),
        ("func a() {\n  c.addObserver(self, selector: #selector(f), name: nil, object: nil)\n}", "the method is not in this file"),
        (
            "func a() {\n  c.addObserver(self, selector: #selector(f), name: nil, object: nil)\n}\nfunc f() {}\nfunc stop() { c.removeObserver(self) }",
            "removeObserver(self) ends the observation elsewhere; keep what addObserver(forName:object:queue:using:) returns, and remove that"
        ),
    ])
    func observersThatABlockWouldChangeAreReported(_ source: String, _ note: String) throws {
        let left = try #require(PortScan.obstacles(in: source, keepsAttributes: true))
        #expect(left.map(\.kind) == [.observer])
        #expect(left.first?.edit == nil)
        #expect(left[0].note == note)
    }

    @Test func missingImportsAreAdded() throws {
        let result = try ported([
            "A.swift": "// Head\n\nimport Foundation\n@testable import App.Part\n\nfunc f(_ object: NSManagedObject) {}\n",
            "B.swift": "// Head\n\n/// Documented.\nclass B { var r: CKRecord?; var c: NSManagedObjectContext? }\n",
            "C.swift": "import CoreData\nfunc g(_ object: NSManagedObject) {}\n", "D.swift": "let text = \"NSManagedObject\"\n",
        ])
        #expect(result.left == [])
        #expect(
            result.files["A.swift"]
                == "// Head\n\nimport Foundation\n@testable import App.Part\nimport CoreData\n\nfunc f(_ object: NSManagedObject) {}\n")
        #expect(
            result.files["B.swift"]
                == "// Head\n\nimport CoreData\n\nimport CloudKit\n\n/// Documented.\nclass B { var r: CKRecord?; var c: NSManagedObjectContext? }\n"
        )
        #expect(result.files["C.swift"] == "import CoreData\nfunc g(_ object: NSManagedObject) {}\n")
        #expect(result.files["D.swift"] == "let text = \"NSManagedObject\"\n")
    }

    @Test func classesOfFoundationThatCoreDataDeclaresLoseTheirModule() throws {
        let result = try ported([
            "A.swift": "import CoreData\nclass T: Foundation.ValueTransformer { let e: Foundation.NSExpression; let d: Foundation.Date }\n"
        ])
        #expect(result.files["A.swift"] == "import CoreData\nclass T: ValueTransformer { let e: NSExpression; let d: Foundation.Date }\n")
    }

    @Test(arguments: [
        ("import UIKit", Obstacle.Kind.absentFramework), ("import SwiftUI", .absentFramework),
        ("var d: NSCoreDataCoreSpotlightDelegate?", .absentName), ("class M: ObservableObject {}", .absentName),
        ("class M { class func keyPathsForValuesAffectingValue(forKey k: String) -> Set<String> { [] } }", .keyValueObserving),
        ("override func observeValue(forKeyPath k: String?) {}", .keyValueObserving),
        ("note.addObserver(self, forKeyPath: \"title\", options: [], context: nil)", .keyValueObserving),
        ("let r = x as? NSFetchRequest<NSManagedObject>\nimport CoreData", .erasedRequest),
    ])
    func whatIsAbsentNeedsAPerson(_ source: String, _ kind: Obstacle.Kind) throws {
        let left = try #require(PortScan.obstacles(in: source, keepsAttributes: true)).filter { $0.edit == nil }
        #expect(left.map(\.kind) == [kind])
    }

    @Test func observationsOfKeyPathsAreLeftAlone() throws {
        let source =
            "import CoreData\nvar o: NSKeyValueObservation?\nlet p: NSKeyValueObservingOptions = [.new]\no = note.observe(\\.title, options: p) { _, _ in }\n"
        #expect(try #require(PortScan.obstacles(in: source, keepsAttributes: true)) == [])
    }

    @Test func codeBehindACheckForItsFrameworkIsNotReported() throws {
        let source = "#if canImport(UIKit)\nimport UIKit\n#endif\n#if os(iOS)\nimport SwiftUI\n#else\nimport AppKit\n#endif\n"
        #expect(try #require(PortScan.obstacles(in: source, keepsAttributes: true)).map(\.text) == ["import AppKit"])
    }
}
