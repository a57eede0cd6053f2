// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Where the versions of a model are, and which is current. Reads folder listings and `.xccurrentversion`.
struct ModelBundle {
    struct Version {
        /// Folder name without `.xcdatamodel`.
        let name: String
        let contents: URL
    }

    let name: String
    /// Sorted by name.
    let versions: [Version]
    let currentVersion: String
    private(set) var warnings: [Diagnostic] = []

    init(_ url: URL) throws(ModelFileError) {
        name = url.deletingPathExtension().lastPathComponent
        guard Self.isFolder(url) else {
            throw Self.error(url, "does not exist; expected a folder named \(url.lastPathComponent)")
        }
        switch url.pathExtension {
        case "xcdatamodel":
            versions = [try Self.version(url)]
            currentVersion = name
        case "xcdatamodeld":
            let found = try Self.listing(of: url)
            var versions: [Version] = []
            for folder in found { versions.append(try Self.version(folder)) }
            self.versions = versions
            currentVersion = try Self.currentVersion(of: url, among: versions.map(\.name))
        default:
            throw Self.error(url, "is not a model; expected a folder ending in .xcdatamodeld or .xcdatamodel")
        }
    }

    private static func error(_ url: URL, _ message: String) -> ModelFileError {
        ModelFileError([Diagnostic(.error, file: url.path, message)])
    }

    private static func isFolder(_ url: URL) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) && isFolder.boolValue
    }

    private static func listing(of url: URL) throws(ModelFileError) -> [URL] {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: url.path)
        } catch {
            throw Self.error(url, "cannot be listed: \(error.localizedDescription)")
        }
        let versions = names.filter { $0.hasSuffix(".xcdatamodel") }.sorted()
        guard !versions.isEmpty else { throw Self.error(url, "has no .xcdatamodel folder inside") }
        return versions.map { url.appendingPathComponent($0, isDirectory: true) }
    }

    private static func version(_ folder: URL) throws(ModelFileError) -> Version {
        let contents = folder.appendingPathComponent("contents", isDirectory: false)
        guard FileManager.default.fileExists(atPath: contents.path) else {
            let old = FileManager.default.fileExists(atPath: folder.appendingPathComponent("elements").path)
            throw Self.error(
                folder,
                old
                    ? "is in the binary form that was used before 2011; save it once with a newer Xcode"
                    : "has no file named contents")
        }
        return Version(name: folder.deletingPathExtension().lastPathComponent, contents: contents)
    }

    private static func currentVersion(of url: URL, among versions: [String]) throws(ModelFileError) -> String {
        let file = url.appendingPathComponent(".xccurrentversion", isDirectory: false)
        guard let data = FileManager.default.contents(atPath: file.path) else {
            guard versions.count == 1 else {
                throw error(
                    url, "has \(versions.count) versions and no .xccurrentversion that says which of them is current")
            }
            return versions[0]
        }
        guard
            let list = try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any],
            let folder = list["_XCCurrentVersionName"] as? String
        else { throw error(file, "is not a property list with the key _XCCurrentVersionName") }
        let name = folder.hasSuffix(".xcdatamodel") ? String(folder.dropLast(".xcdatamodel".count)) : folder
        guard versions.contains(name) else {
            throw error(file, "names the version '\(name)', which is not in \(url.lastPathComponent)")
        }
        return name
    }
}
