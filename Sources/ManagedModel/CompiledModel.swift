// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation

/// All versions of a compiled model, and the name of the current one.
///
/// A `.momd` is a folder with a `.mom` file for each version and a `VersionInfo.plist`, as Apple's compiler writes it, so
/// that code finds one version's file. The `.mom` files contain JSON with sorted keys: the same model yields the same
/// bytes on every machine. Apple's are key-value archives of private classes; neither framework reads the other's.
package struct CompiledModel: Hashable, Sendable {
    /// Versions only grow; a case is never reused.
    package enum Format: Int, CaseIterable, Sendable {
        case initial = 1

        package static let newest = Format.initial
    }

    package let currentVersion: String
    /// Models by version name, such as `Posts 2`. Contains ``currentVersion``.
    package let versions: [String: Model]

    /// - Throws: ``CompiledModelError`` with `.noCurrentVersion` when `versions` lacks that name.
    package init(currentVersion: String, versions: [String: Model]) throws(CompiledModelError) {
        guard versions[currentVersion] != nil else {
            throw CompiledModelError(.noCurrentVersion, detail: "'\(currentVersion)'")
        }
        self.currentVersion = currentVersion
        self.versions = versions
    }

    package var current: Model {
        guard let model = versions[currentVersion] else {
            preconditionFailure("a compiled model is only made with its current version")
        }
        return model
    }

    /// - Throws: ``CompiledModelError`` with `.cannotBeWritten` for a default value that is valid only inside a process.
    package func encoded() throws(CompiledModelError) -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return try encoder.encode(
                Contents(format: Format.newest.rawValue, current: currentVersion, versions: versions))
        } catch {
            throw CompiledModelError(.cannotBeWritten, detail: "\(error)")
        }
    }

    /// - Throws: ``CompiledModelError``: `.notACompiledModel` for other bytes, `.newerFormat` for a file of a later
    ///   release, `.damaged` when a model inside cannot be decoded, or `.noCurrentVersion`.
    package init(data: Data) throws(CompiledModelError) {
        let decoder = JSONDecoder()
        guard let header = try? decoder.decode(Header.self, from: data), header.format > 0 else {
            throw CompiledModelError(.notACompiledModel, detail: "\(data.count) bytes")
        }
        guard Format(rawValue: header.format) != nil else {
            throw CompiledModelError(
                .newerFormat, detail: "format \(header.format), this release reads up to \(Format.newest.rawValue)")
        }
        let contents: Contents
        do {
            contents = try decoder.decode(Contents.self, from: data)
        } catch {
            throw CompiledModelError(.damaged, detail: "\(error)")
        }
        try self.init(currentVersion: contents.current, versions: contents.versions)
    }

    private struct Header: Decodable { let format: Int }

    private struct Contents: Codable {
        let format: Int
        let current: String
        let versions: [String: Model]
    }
}

// MARK: Files

extension CompiledModel {
    /// The property list in a compiled model's folder that names the current version, as Apple's compiler writes it.
    package static let versionInfoName = "VersionInfo.plist"
    private static let currentVersionKey = "NSManagedObjectModel_CurrentVersionName"

    /// The files of a `.momd` folder by name: `NAME.mom` for each version, and `VersionInfo.plist`.
    ///
    /// - Throws: ``CompiledModelError`` with `.cannotBeWritten`.
    package func files() throws(CompiledModelError) -> [String: Data] {
        var files: [String: Data] = [:]
        for (name, model) in versions {
            files["\(name).mom"] = try CompiledModel(currentVersion: name, versions: [name: model]).encoded()
        }
        let name = currentVersion.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
        files[Self.versionInfoName] = Data(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">
            <dict>
            \t<key>\(Self.currentVersionKey)</key>
            \t<string>\(name)</string>
            </dict>
            </plist>

            """.utf8)
        return files
    }

    /// Reads a `.momd` folder, or one file: a `.mom`, or a `.momd` in the format of earlier releases.
    ///
    /// - Throws: a file error, or ``CompiledModelError``. A folder without `VersionInfo.plist` must have exactly one
    ///   version.
    package init(contentsOf url: URL) throws {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder), isFolder.boolValue else {
            try self.init(data: try Data(contentsOf: url))
            return
        }
        var versions: [String: Model] = [:]
        for file in try FileManager.default.contentsOfDirectory(at: url, includingPropertiesForKeys: nil) where file.pathExtension == "mom"
        {
            versions[file.deletingPathExtension().lastPathComponent] = try CompiledModel(data: try Data(contentsOf: file)).current
        }
        let info = FileManager.default.contents(atPath: url.appendingPathComponent(Self.versionInfoName).path)
        let values = try info.map { try PropertyListSerialization.propertyList(from: $0, format: nil) } as? [String: Any]
        let named = values?[Self.currentVersionKey] as? String
        guard let current = named ?? (versions.count == 1 ? versions.keys.first : nil) else {
            throw CompiledModelError(.noCurrentVersion, detail: "\(versions.count) versions and no \(Self.versionInfoName)")
        }
        try self.init(currentVersion: current, versions: versions)
    }
}

/// A compiled model could not be read or written.
package struct CompiledModelError: Error, Hashable, CustomStringConvertible {
    package enum Code: CaseIterable, Sendable {
        case notACompiledModel
        case newerFormat
        case damaged
        case noCurrentVersion
        case cannotBeWritten
    }

    package let code: Code
    /// The variable part: sizes, format numbers, names from the model.
    package let detail: String

    package init(_ code: Code, detail: String) {
        self.code = code
        self.detail = detail
    }

    package var description: String {
        let summary =
            switch code {
            case .notACompiledModel: "this is not a compiled model"
            case .newerFormat: "the compiled model was made by a newer release"
            case .damaged: "the compiled model is damaged"
            case .noCurrentVersion: "the compiled model has no version of the name it says is current"
            case .cannotBeWritten: "the model cannot be compiled"
            }
        return "\(summary): \(detail)"
    }
}
