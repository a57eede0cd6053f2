// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation

/// What a `.momd` file holds here: every version of a model, and which one is current.
///
/// It is JSON with sorted keys, so that the same model gives the same bytes on every machine. Apple's compiled
/// models are key-value archives of private classes in a folder of the same name; neither side reads the other's.
package struct CompiledModel: Hashable, Sendable {
    /// Versions only grow; a case is never used for something else.
    package enum Format: Int, CaseIterable, Sendable {
        case initial = 1

        package static let newest = Format.initial
    }

    package let currentVersion: String
    /// Version name, such as `Posts 2`, to its model. Has ``currentVersion``.
    package let versions: [String: Model]

    /// - Throws: ``CompiledModelError`` with `.noCurrentVersion` when `versions` has no such name.
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

    /// - Throws: ``CompiledModelError`` with `.cannotBeWritten` for a default value that only means something
    ///   inside a process.
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

    /// - Throws: ``CompiledModelError``: `.notACompiledModel` for bytes of another kind, `.newerFormat` for a file
    ///   of a later release, `.damaged` when a model inside cannot be read, or `.noCurrentVersion`.
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
    /// What varies: sizes, format numbers, names from the model.
    package let detail: String

    package init(_ code: Code, detail: String) {
        self.code = code
        self.detail = detail
    }

    package var description: String {
        let what =
            switch code {
            case .notACompiledModel: "this is not a compiled model"
            case .newerFormat: "the compiled model was made by a newer release"
            case .damaged: "the compiled model is damaged"
            case .noCurrentVersion: "the compiled model has no version of the name it says is current"
            case .cannotBeWritten: "the model cannot be compiled"
            }
        return "\(what): \(detail)"
    }
}
