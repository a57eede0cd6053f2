// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation
import ManagedModel
package import ModelFile

/// Writes model folders.
package enum ModelBundleWriter {
    /// Writes a versioned model: a folder with one `.xcdatamodel` for each version and, where there are several, the file
    /// that says which is current. Existing files are replaced; existing versions that are not given stay.
    ///
    /// - Parameters:
    ///   - versions: Version name to document; must have `current`.
    ///   - url: An `.xcdatamodeld`.
    /// - Throws: ``ModelError`` for a value that a model file cannot hold (nothing is written then), and errors of the file system.
    package static func write(_ versions: [String: ModelDocument], current: String, to url: URL) throws {
        precondition(versions[current] != nil, "versions contains the current version")
        var texts: [String: String] = [:]
        for (name, document) in versions { texts[name] = try ModelFileWriter(document).text() }
        for (name, text) in texts.sorted(by: { $0.key < $1.key }) {
            let folder = url.appendingPathComponent("\(name).xcdatamodel", isDirectory: true)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: folder.appendingPathComponent("contents"), options: .atomic)
        }
        let list = url.appendingPathComponent(".xccurrentversion", isDirectory: false)
        guard versions.count > 1 || FileManager.default.fileExists(atPath: list.path) else { return }
        let data = try PropertyListSerialization.data(
            fromPropertyList: ["_XCCurrentVersionName": "\(current).xcdatamodel"], format: .xml, options: 0)
        try data.write(to: list, options: .atomic)
    }
}
