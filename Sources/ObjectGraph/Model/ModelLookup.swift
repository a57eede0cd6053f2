// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
import ModelCompiler

/// Finds a model by name, or reads it from a file.
///
/// The order: models compiled into the program; then `NAME.momd`, `NAME.mom` and `NAME.xcdatamodeld` beside the
/// executable, in the main bundle's resources, and in each `*.resources` or `*.bundle` folder beside the executable.
/// Source: the search by name in the main bundle is that of Apple's `NSPersistentContainer.init(name:)`.
enum ModelLookup {
    static func model(named name: String) throws -> Model {
        for registration in ManagedClassLookup.registrations() {
            if let text = registration.models[name] { return try compiled(Data(text.utf8)) }
        }
        let folders = resourceFolders()
        for folder in folders {
            for kind in ["momd", "mom", "xcdatamodeld", "xcdatamodel"] {
                let url = folder.appendingPathComponent(name).appendingPathExtension(kind)
                if FileManager.default.fileExists(atPath: url.path) { return try model(at: url) }
            }
        }
        throw CocoaError(
            .fileReadNoSuchFile,
            sentence: "There is no model named '\(name)'. Add \(name).xcdatamodeld to a target that uses the "
                + "ModelCompilerPlugin, or pass a model to init(name:managedObjectModel:).")
    }

    static func model(at url: URL) throws -> Model {
        if url.pathExtension == "xcdatamodeld" || url.pathExtension == "xcdatamodel" {
            return try ModelCompiler.compile(contentsOf: url).compiled.current
        }
        return try compiled(Data(contentsOf: url))
    }

    private static func compiled(_ data: Data) throws -> Model {
        try CompiledModel(data: data).current
    }

    private static func resourceFolders() -> [URL] {
        let beside = URL(fileURLWithPath: Bundle.main.bundlePath, isDirectory: true)
        let inside = (try? FileManager.default.contentsOfDirectory(at: beside, includingPropertiesForKeys: nil)) ?? []
        let bundles = inside.filter { ["resources", "bundle"].contains($0.pathExtension) }
        return [beside] + [Bundle.main.resourceURL].compactMap { $0 } + bundles.sorted { $0.path < $1.path }
    }
}

extension NSManagedObjectModel {
    /// Reads a compiled model, or a model's source (`.xcdatamodel`, `.xcdatamodeld`: its current version).
    ///
    /// - Returns: nil when there is no readable model at the address.
    public convenience init?(contentsOf url: URL) {
        guard let model = try? ModelLookup.model(at: url) else { return nil }
        self.init(model)
    }
}
