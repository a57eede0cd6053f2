// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
import ModelFile
import Synchronization

/// Finds a model by name, or reads it from a file.
///
/// The order: models compiled into the program; then `NAME.momd`, `NAME.mom` and `NAME.xcdatamodeld` next to the
/// executable, in the main bundle's resources, and in each `*.resources` or `*.bundle` folder next to the executable.
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
            sentence: "No model is named '\(name)'. Add \(name).xcdatamodeld to a target that uses the "
                + "ModelCompilerPlugin, or pass a model to init(name:managedObjectModel:).")
    }

    /// Returns all models compiled into the program.
    static func compiledIn() -> [Model] {
        let texts = ManagedClassLookup.registrations().flatMap { $0.models.sorted { $0.key < $1.key }.map(\.value) }
        return texts.compactMap { try? compiled(Data($0.utf8)) }
    }

    /// Returns all models in a bundle's resources.
    static func models(in bundle: Bundle) -> [Model] { modelFiles(in: bundle).compactMap { try? model(at: $0) } }

    static func modelFiles(in bundle: Bundle) -> [URL] {
        let folders = [bundle.resourceURL ?? bundle.bundleURL]
        let files = folders.flatMap { (try? FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil)) ?? [] }
        let kinds = ["momd", "mom", "xcdatamodeld", "xcdatamodel"]
        return files.filter { kinds.contains($0.pathExtension) }.sorted { $0.path < $1.path }
    }

    /// Folders of model files read so far: they may hold other versions.
    static let readFiles = Mutex<Set<URL>>([])

    static func model(at url: URL) throws -> Model {
        _ = readFiles.withLock { $0.insert(url) }
        if url.pathExtension == "xcdatamodeld" || url.pathExtension == "xcdatamodel" {
            return try ModelFileReader.read(contentsOf: url).compiled.current
        }
        return try CompiledModel(contentsOf: url).current
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
    /// - Returns: nil without a readable model at the URL.
    public convenience init?(contentsOf url: URL) {
        guard let model = try? ModelLookup.model(at: url) else { return nil }
        self.init(model)
    }

    /// Creates one model with the entities of several.
    ///
    /// - Returns: nil when two of them have different entities of one name. Source: Apple raises an exception then.
    public convenience init?(byMerging models: [NSManagedObjectModel]?) {
        guard let merged = Self.merged((models ?? []).map(\.value)) else { return nil }
        self.init(merged)
    }

    class func mergedModelImplementation(from bundles: [Bundle]?) -> NSManagedObjectModel? {
        var models = bundles?.flatMap(ModelLookup.models) ?? ModelLookup.compiledIn()
        if bundles == nil, models.isEmpty { models = ModelLookup.models(in: .main) }
        guard !models.isEmpty, let merged = merged(models) else { return nil }
        return NSManagedObjectModel(merged)
    }

    private static func merged(_ models: [Model]) -> Model? {
        guard var result = models.first else { return Model() }
        for model in models.dropFirst() {
            for entity in model.entities {
                if let existing = result.entities.first(where: { $0.name == entity.name }) {
                    if existing != entity { return nil }
                } else {
                    result.entities.append(entity)
                }
            }
            result.configurations.merge(model.configurations) { first, second in first + second.filter { !first.contains($0) } }
            result.cloudConfigurations += model.cloudConfigurations.filter { !result.cloudConfigurations.contains($0) }
            result.fetchTemplates += model.fetchTemplates.filter { !result.fetchTemplates.contains($0) }
            result.composites += model.composites.filter { !result.composites.contains($0) }
            result.versionIdentifiers += model.versionIdentifiers.filter { !result.versionIdentifiers.contains($0) }
        }
        return result
    }
}
