// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The files of a new project.
struct ProjectTemplate {
    struct File: Equatable {
        /// Relative to the project's folder.
        var path: String
        var text: String
        var isExecutable = false
    }

    /// A valid `ProjectName`.
    let name: String
    let package: TarnPackage

    private var container: String { "iCloud.org.example.\(name.lowercased())" }

    var files: [File] {
        [
            File(path: "Package.swift", text: manifest),
            File(path: "README.md", text: readme),
            File(path: ".gitignore", text: ".build/\n.tarn/\nPackage.resolved\n"),
            File(path: "server", text: serverScript, isExecutable: true),
            File(path: "device", text: deviceScript, isExecutable: true),
            File(path: "Sources/\(name)/\(name).swift", text: program),
            File(path: "Sources/\(name)Model/Library.swift", text: library),
            File(path: "Sources/\(name)Model/\(name).xcdatamodeld/\(name).xcdatamodel/contents", text: model),
            File(path: "Tests/\(name)Tests/SyncTests.swift", text: test),
        ]
    }

    private var manifest: String {
        """
        // swift-tools-version: 6.2

        import PackageDescription

        let package = Package(
            name: "\(name)",
            dependencies: [
                \(package.dependency)
            ],
            targets: [
                // The model and its functions. The plugin generates the classes of \(name).xcdatamodeld.
                .target(
                    name: "\(name)Model",
                    dependencies: [
                        .product(name: "CloudKit", package: "\(package.identity)"),
                        .product(name: "CoreData", package: "\(package.identity)"),
                    ],
                    exclude: ["\(name).xcdatamodeld"],
                    plugins: [.plugin(name: "ModelCompilerPlugin", package: "\(package.identity)")]),
                .executableTarget(name: "\(name)", dependencies: ["\(name)Model", .product(name: "CoreData", package: "\(package.identity)")]),
                .testTarget(
                    name: "\(name)Tests",
                    dependencies: [
                        "\(name)Model",
                        .product(name: "CloudKit", package: "\(package.identity)"),
                        .product(name: "CloudKitTesting", package: "\(package.identity)"),
                        .product(name: "CoreData", package: "\(package.identity)"),
                    ]),
            ]
        )

        """
    }

    private var model: String {
        """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="22758" systemVersion="23F79" minimumToolsVersion="Automatic" sourceLanguage="Swift" usedWithCloudKit="YES" userDefinedModelVersionIdentifier="">
            <entity name="Note" representedClassName="Note" syncable="YES" codeGenerationType="class">
                <attribute name="createdAt" optional="YES" attributeType="Date" usesScalarValueType="NO"/>
                <attribute name="text" optional="YES" attributeType="String"/>
            </entity>
        </model>

        """
    }

    private var library: String {
        """
        import CloudKit
        import CoreData
        import Foundation

        /// Opens the notes in a folder, and starts sync.
        ///
        /// - Parameter options: Which cloud to sync with; by default the server and the account of `TARN_SERVER` and
        ///   `TARN_TOKEN`.
        public func openNotes(in folder: URL, options: NSPersistentCloudKitContainerOptions? = nil) throws -> NSPersistentCloudKitContainer {
            let container = NSPersistentCloudKitContainer(name: "\(name)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let description = NSPersistentStoreDescription(url: folder.appendingPathComponent("\(name).sqlite"))
            description.cloudKitContainerOptions = options ?? NSPersistentCloudKitContainerOptions(containerIdentifier: "\(container)")
            container.persistentStoreDescriptions = [description]
            var failure: (any Error)?
            container.loadPersistentStores { _, error in failure = failure ?? error }
            if let failure { throw failure }
            container.viewContext.automaticallyMergesChangesFromParent = true
            return container
        }

        extension NSPersistentCloudKitContainer {
            /// Saves a note. Sync sends it to the server, and the server to the other devices.
            public func addNote(_ text: String) async throws {
                try await performBackgroundTask { context in
                    let note = Note(context: context)
                    note.text = text
                    note.createdAt = Date()
                    try context.save()
                }
            }

            /// Returns the texts of all notes, the oldest first.
            public func noteTexts() async throws -> [String] {
                try await performBackgroundTask { context in
                    let request: NSFetchRequest<Note> = Note.fetchRequest()
                    request.sortDescriptors = [NSSortDescriptor(key: "createdAt", ascending: true)]
                    return try context.fetch(request).compactMap(\\.text)
                }
            }
        }

        """
    }

    private var program: String {
        """
        import CoreData
        import Foundation
        import \(name)Model

        /// Shows the notes of one device, and adds each line that is typed.
        @main struct \(name) {
            static func main() async throws {
                let device = CommandLine.arguments.dropFirst().first ?? "phone"
                let container = try openNotes(in: URL(fileURLWithPath: ".tarn/\\(device)"))
                print("\(name) on \\(device): type a line to add a note, Ctrl-D to end.")
                let screen = Task { try await show(container) }
                for await line in typedLines() where !line.isEmpty { try await container.addNote(line) }
                screen.cancel()
                do {
                    try await container.sync(timeout: .seconds(10))
                } catch {
                    print("Not everything is on the server yet: \\(error.localizedDescription)")
                }
                print("\(name) on \\(device): \\(try await container.noteTexts().joined(separator: ", "))")
            }

            /// Prints each new note, from this device or another, and what keeps sync from working.
            private static func show(_ container: NSPersistentCloudKitContainer) async throws {
                var (shown, problem) = (Set<String>(), "")
                for await status in container.syncStatusUpdates {
                    for text in try await container.noteTexts() where shown.insert(text).inserted { print("• \\(text)") }
                    switch status.activity {
                    case .offline, .error:
                        if problem != "\\(status)" { print("(\\(status))") }
                        problem = "\\(status)"
                    default: problem = ""
                    }
                }
            }

            private static func typedLines() -> AsyncStream<String> {
                AsyncStream { continuation in
                    Thread.detachNewThread {
                        while let line = readLine() { continuation.yield(line) }
                        continuation.finish()
                    }
                }
            }
        }

        """
    }

    private var test: String {
        """
        import CloudKit
        import CloudKitTesting
        import CoreData
        import Foundation
        import Testing
        import \(name)Model

        /// The real sync and the real server, in this process: no account, no network.
        @Test func aNoteReachesTheOtherDevice() async throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            defer { try? FileManager.default.removeItem(at: folder) }
            let cloud = try TestCloud()
            let phone = try await cloud.device("phone", account: "me")
            let tablet = try await cloud.device("tablet", account: "me")
            let phoneNotes = try openNotes(
                in: folder.appendingPathComponent("phone"), options: NSPersistentCloudKitContainerOptions(container: phone.container))
            let tabletNotes = try openNotes(
                in: folder.appendingPathComponent("tablet"), options: NSPersistentCloudKitContainerOptions(container: tablet.container))

            try await phoneNotes.addNote("Milk")
            try await phoneNotes.sync(timeout: .seconds(60))
            try await tabletNotes.sync(timeout: .seconds(60))
            #expect(try await tabletNotes.noteTexts() == ["Milk"])
        }

        """
    }
}
