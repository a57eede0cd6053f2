// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation

/// What stands between a package's sources and a build without Objective-C.
package struct SourcePort {
    package struct File {
        package var url: URL
        /// From the package's folder.
        package var path: String
        package var text: String
        package var obstacles: [Obstacle]
        /// Edits that obstacles of other files, or of other places, ask for here.
        package var insertions: [Obstacle.Edit] = []
    }

    /// A version of a model in which entities change their code generation.
    struct ModelFile {
        var url: URL
        var path: String
        var text: String
        var edits: [Obstacle.Edit] = []
    }

    package let folder: URL
    private var models: [ModelFile] = []
    package private(set) var files: [File] = []
    /// Files that cannot be read as Swift, by path. They are never touched.
    package private(set) var unreadable: [String] = []
    package private(set) var exposed: [SourceIndex.Exposed] = []

    package static let notesName = "CoreData.accessnotes"

    /// Reads the Swift files of a folder, or one file; hidden files, build products and manifests are left out.
    ///
    /// - Parameter keepsAttributes: Whether `@objc` stays and access notes make it have no effect.
    /// - Throws: `CocoaError(.fileReadNoSuchFile)` without a file or folder at the URL.
    package init(_ url: URL, keepsAttributes: Bool) throws {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
            throw CocoaError(.fileReadNoSuchFile, userInfo: [NSFilePathErrorKey: url.path])
        }
        folder = isFolder.boolValue ? url : url.deletingLastPathComponent()
        var index = SourceIndex(module: "")
        var scans: [PortScan] = []
        for file in isFolder.boolValue ? Self.sources(in: url) : [url] {
            let path = file.path.hasPrefix(folder.path + "/") ? String(file.path.dropFirst(folder.path.count + 1)) : file.path
            guard let data = FileManager.default.contents(atPath: file.path), let text = String(data: data, encoding: .utf8),
                let scan = PortScan(text, keepsAttributes: keepsAttributes)
            else {
                unreadable.append(path)
                continue
            }
            index.add(text, file: path)
            files.append(File(url: file, path: path, text: text, obstacles: scan.obstacles))
            scans.append(scan)
        }
        exposed = index.exposed
        if isFolder.boolValue { models = Self.models(in: url) }
        let generated = GeneratedClasses(models.map(\.text))
        var written: [String: WrittenClass] = [:]
        for file in files.indices { move(scans[file].movable, from: file, scans, generated, &written) }
        for (name, place) in written.sorted(by: { $0.key < $1.key }) { write(name, place, generated) }
    }

    /// Moves overrides from extensions into the bodies of their classes.
    private mutating func move(
        _ overrides: [MovableOverride], from file: Int, _ scans: [PortScan], _ generated: GeneratedClasses,
        _ written: inout [String: WrittenClass]
    ) {
        for override in overrides {
            guard let place = files[file].obstacles.firstIndex(where: { $0.kind == .overrideInExtension && $0.line == override.line })
            else { continue }
            let homes = scans.indices.compactMap { home in scans[home].classEnd(override.type).map { (home, $0) } }
            let note: String?
            if homes.isEmpty, generated.places[override.type] == nil {
                note =
                    "no file here declares \(override.type): if a model generates it, set the entity's code generation to Category/Extension "
                    + "(codeGenerationType=\"category\") and write the class in your sources"
            } else if homes.count > 1 {
                note = "several classes are named \(override.type)"
            } else if override.isConditional {
                note = "it stands in an #if"
            } else if let home = homes.first?.0 ?? written[override.type]?.file, home != file, !override.hiddenNames.isEmpty {
                note = "it uses \(override.hiddenNames.joined(separator: ", ")), which \(files[home].path) cannot see"
            } else if homes.isEmpty {
                note = nil
                let text = override.publicText
                written[override.type, default: WrittenClass(file: file, position: override.extensionStart)].overrides.append(text)
                files[file].obstacles[place].edit = Obstacle.Edit(range: override.range, text: "")
            } else {
                note = nil
                let (home, end) = homes[0]
                let text = override.text.hasSuffix("\n") ? override.text : override.text + "\n"
                files[file].obstacles[place].edit = Obstacle.Edit(range: override.range, text: "")
                let before = Array(files[home].text.utf8)[..<end]
                let isOwnLine = before.last { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") } == UInt8(ascii: "\n")
                let position = isOwnLine ? (before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? end) : end
                files[home].insertions.append(Obstacle.Edit(range: position..<position, text: "\n" + text))
            }
            files[file].obstacles[place].note = note ?? (homes.isEmpty ? "into a class of its own" : "into the class")
        }
    }

    /// A class that the model generated so far, and that a source file is to declare.
    private struct WrittenClass {
        let file: Int
        let position: Int
        var overrides: [String] = []
    }

    /// Declares a generated class in a source file. The model generates its properties from then on, as for Xcode's
    /// "Category/Extension".
    private mutating func write(_ name: String, _ place: WrittenClass, _ generated: GeneratedClasses) {
        let places = generated.places[name] ?? []
        let superclass = places.first?.superclass ?? "NSManagedObject"
        let text = "@objc(\(name))\npublic class \(name): \(superclass) {\n\(place.overrides.joined(separator: "\n"))}\n\n"
        files[place.file].insertions.append(Obstacle.Edit(range: place.position..<place.position, text: text))
        for place in places { models[place.model].edits.append(Obstacle.Edit(range: place.codeGeneration, text: "category")) }
    }

    package var obstacles: [(path: String, obstacle: Obstacle)] {
        files.flatMap { file in file.obstacles.map { (file.path, $0) } }
    }

    package var accessNotes: String { AccessNotes.text(for: exposed) }

    /// Makes the edits that the obstacles suggest.
    ///
    /// - Returns: The paths of the files that changed.
    package func write() throws -> [String] {
        var changed: [String] = []
        for file in files where !file.insertions.isEmpty || file.obstacles.contains(where: { $0.edit != nil }) {
            try Data(PortScan.applying(file.obstacles.compactMap(\.edit) + file.insertions, to: file.text).utf8).write(
                to: file.url, options: .atomic)
            changed.append(file.path)
        }
        for model in models where !model.edits.isEmpty {
            try Data(PortScan.applying(model.edits, to: model.text).utf8).write(to: model.url, options: .atomic)
            changed.append(model.path)
        }
        return changed
    }

    /// Each version of each model, as its `contents` file says it.
    private static func models(in folder: URL) -> [ModelFile] {
        let found = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil, options: [.skipsHiddenFiles])
        let urls = (found?.allObjects ?? []).compactMap { $0 as? URL }.filter { url in
            url.lastPathComponent == "contents" && url.deletingLastPathComponent().pathExtension == "xcdatamodel"
        }
        return urls.sorted { $0.path < $1.path }.compactMap { url in
            guard let data = FileManager.default.contents(atPath: url.path), let text = String(data: data, encoding: .utf8) else {
                return nil
            }
            return ModelFile(url: url, path: String(url.path.dropFirst(folder.path.count + 1)), text: text)
        }
    }

    private static func sources(in folder: URL) -> [URL] {
        let found = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil, options: [.skipsHiddenFiles])
        let urls = (found?.allObjects ?? []).compactMap { $0 as? URL }
        return urls.filter { url in
            url.pathExtension == "swift" && !url.lastPathComponent.hasPrefix("Package")
                && !url.pathComponents.dropFirst(folder.pathComponents.count).contains(where: { $0 == ".build" || $0 == "DerivedData" })
        }.sorted { $0.path < $1.path }
    }
}
