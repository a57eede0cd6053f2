// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import TestBasics
import Testing

@testable import TarnCommands

/// The shell blocks of README and guides run, each document's in order and in a new folder.
@Suite(.closesFixtures, .tags(.slow)) struct GuideShellTests {
    private static func script(_ guide: ShellGuide) throws -> ShellScript {
        ShellScript(guide, text: try String(contentsOf: ShellGuide.root.appendingPathComponent(guide.document), encoding: .utf8))
    }

    /// A store as an app on a Mac leaves it.
    private func makeStore(_ name: String, entity: String, attribute: String, values: [String], in folder: Folder) async throws {
        let property = NSAttributeDescription()
        property.name = attribute
        property.attributeType = .stringAttributeType
        let description = NSEntityDescription()
        description.name = entity
        description.properties = [property]
        let model = NSManagedObjectModel()
        model.entities = [description]
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        let store = try coordinator.addPersistentStore(
            ofType: NSSQLiteStoreType, configurationName: nil, at: URL(fileURLWithPath: folder.path(name)))
        let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        context.persistentStoreCoordinator = coordinator
        try await context.perform {
            for value in values {
                NSManagedObject(entity: description, insertInto: context).setValue(value, forKey: attribute)
            }
            try context.save()
        }
        try coordinator.remove(store)
    }

    @Test(.timeLimit(.minutes(5)), arguments: ShellGuide.all) func blocksRun(guide: ShellGuide) async throws {
        let folder = try Folder()
        let script = try Self.script(guide)
        try Data(script.text.utf8).write(to: URL(fileURLWithPath: folder.path("script")))
        for (index, program) in script.programs.enumerated() {
            try Data(program.utf8).write(to: URL(fileURLWithPath: folder.path("script-\(index + 1)")))
        }
        if guide.document.hasSuffix("/MovingAnApp.md") {
            try await makeStore("Notes.sqlite", entity: "Note", attribute: "title", values: ["Milk"], in: folder)
            try await makeStore(
                "Model.sqlite", entity: "Car", attribute: "maker", values: Array(repeating: "FIAT", count: 7), in: folder)
        }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let child = try ChildProcess(
            "sh", program: URL(fileURLWithPath: "/bin/sh"), arguments: ["-c", "cd '\(folder.url.path)' && exec sh ./script"],
            environment: ["PATH": "\(Programs.folder.path):\(path)", "HOME": folder.url.path],
            log: URL(fileURLWithPath: folder.path("complaints.log"))
        ).stoppedWithTest()
        let output = await child.everything()
        let complaints = try String(contentsOfFile: folder.path("complaints.log"), encoding: .utf8)
        #expect(await child.ended() == 0, "\(output.suffix(2_000))\n\(complaints.suffix(1_000))")
    }

    @Test func everyDocumentWithShellBlocksIsRun() throws {
        let guides = "Documentation/Tarn.docc"
        let names = try FileManager.default.contentsOfDirectory(atPath: ShellGuide.root.appendingPathComponent(guides).path)
            .filter { $0.hasSuffix(".md") }
        let documents = try (["README.md"] + names.map { "\(guides)/\($0)" }).filter { path in
            let text = try String(contentsOf: ShellGuide.root.appendingPathComponent(path), encoding: .utf8)
            return !ShellScript.blocks(in: text).isEmpty
        }
        #expect(documents.sorted() == ShellGuide.all.map(\.document).sorted())
    }

    @Test func mostLinesRunAndNoExceptionIsLeftOver() throws {
        let scripts = try ShellGuide.all.map(Self.script)
        #expect(scripts.reduce(0) { $0 + $1.linesThatRun } >= 55)
        let used = scripts.reduce(into: Set<String>()) { $0.formUnion($1.prefixesThatAreNotRun) }
        #expect(ShellGuide.linesThatAreNotRun.map(\.prefix).filter { !used.contains($0) } == [])
    }

    @Test func blocksOfAShellAreFound() {
        let document = """
            ```swift
            tarn()
            ```
               ```sh
               tarn serve --data \\
                   ./data
               ```
            ```
            export A=1
            ```
            ```
            [Service]
            ```
            """
        #expect(ShellScript.blocks(in: document) == ["tarn serve --data \\\n    ./data\n", "export A=1\n"])
    }
}
