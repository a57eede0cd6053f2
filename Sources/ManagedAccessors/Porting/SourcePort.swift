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

    package let folder: URL
    package private(set) var files: [File] = []
    /// Files that cannot be read as Swift, by path. They are never touched.
    package private(set) var unreadable: [String] = []
    package private(set) var exposed: [SourceIndex.Exposed] = []

    package static let notesName = "CoreData.accessnotes"

    /// Reads the Swift files of a folder, or one file; what is hidden, built or a manifest is left out.
    ///
    /// - Parameter keepsAttributes: Whether `@objc` stays and access notes say that it counts for nothing.
    /// - Throws: a file error when there is no such folder.
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
        for file in files.indices { move(scans[file].movable, from: file, scans) }
    }

    /// Moves overrides from extensions into the bodies of their classes.
    private mutating func move(_ overrides: [MovableOverride], from file: Int, _ scans: [PortScan]) {
        for override in overrides {
            guard let place = files[file].obstacles.firstIndex(where: { $0.kind == .overrideInExtension && $0.line == override.line }) else { continue }
            let homes = scans.indices.compactMap { home in scans[home].classEnd(override.type).map { (home, $0) } }
            let note: String?
            if homes.isEmpty {
                note = "no file here declares \(override.type): the model's generated classes have no place for it, so write the class by hand"
            } else if homes.count > 1 {
                note = "several classes are named \(override.type)"
            } else if override.isConditional {
                note = "it stands in an #if"
            } else if homes[0].0 != file, !override.hiddenNames.isEmpty {
                note = "it uses \(override.hiddenNames.joined(separator: ", ")), which \(files[homes[0].0].path) cannot see"
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
            files[file].obstacles[place].note = note ?? "into the class"
        }
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
            try Data(PortScan.applying(file.obstacles.compactMap(\.edit) + file.insertions, to: file.text).utf8).write(to: file.url, options: .atomic)
            changed.append(file.path)
        }
        return changed
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
