// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
import ModelFile
import SQLiteStore
import Synchronization

// Versions of a model, and the stores of each version.

extension NSManagedObjectModel {
    /// The version hash of each entity.
    public var entityVersionHashesByName: [String: Data] { entitiesByName.mapValues(\.versionHash) }

    /// The version hashes that earlier releases wrote for the same entities.
    var earlierVersionHashes: [String: Data] { earlierVersionHashes(of: entityVersionHashesByName) }

    /// - Parameter hashes: Those of this release, by entity.
    func earlierVersionHashes(of hashes: [String: Data]) -> [String: Data] {
        let entities = entitiesByName
        return Dictionary(
            uniqueKeysWithValues: hashes.map { name, hash in
                (name, entities[name].flatMap { $0.hasTransientProperties ? $0.earlierVersionHash : nil } ?? hash)
            })
    }
    var earlierVersionChecksum: String { VersionHash.checksum(of: earlierVersionHashes) }

    /// A checksum over the version hashes of all entities; models with equal checksums fit the same stores.
    public var versionChecksum: String { VersionHash.checksum(of: entityVersionHashesByName) }

    func isConfigurationImplementation(withName configuration: String?, compatibleWithStoreMetadata metadata: [String: Any]) -> Bool {
        guard let entities = entities(forConfigurationName: configuration),
            let storeHashes = metadata[NSStoreModelVersionHashesKey] as? [String: Data]
        else { return false }
        let hashes = Dictionary(keepingFirst: entities.compactMap { entity in entity.name.map { ($0, entity.versionHash) } })
        guard Set(storeHashes.keys) == Set(hashes.keys) else { return false }
        guard metadata[tarnHashVersionKey] != nil else {
            return ForeignTables.fit(metadata, value, configuration: configuration) ?? true
        }
        let earlier = earlierVersionHashes
        return hashes.allSatisfy { storeHashes[$0.key] == $0.value || storeHashes[$0.key] == earlier[$0.key] }
    }

    /// Creates a model from the entities, among several models, that fit a store.
    ///
    /// - Returns: nil when no model has an entity of the store in the same version.
    public convenience init?(byMerging models: [NSManagedObjectModel], forStoreMetadata metadata: [String: Any]) {
        guard let storeHashes = metadata[NSStoreModelVersionHashesKey] as? [String: Data], !storeHashes.isEmpty else { return nil }
        let isOurs = metadata[tarnHashVersionKey] != nil
        let fitting = models.filter { $0.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata) }
        // Versions with equal tables are distinguished by the developer's version identifiers, if set.
        let identifiers = Set((metadata[NSStoreModelVersionIdentifiersKey] as? [String] ?? []).filter { !$0.isEmpty })
        let named = fitting.first { !identifiers.isEmpty && Set($0.versionIdentifiers.compactMap { $0.base as? String }) == identifiers }
        if let whole = named ?? fitting.first {
            self.init(whole.value)
            return
        }
        var merged = Model()
        for (name, hash) in storeHashes.sorted(by: { $0.key < $1.key }) {
            let source = models.first { model in
                model.entitiesByName[name].map { !isOurs || $0.versionHash == hash || $0.earlierVersionHash == hash } ?? false
            }
            guard let source, let entity = source.value.entities.first(where: { $0.name == name }) else { return nil }
            merged.entities.append(entity)
            for composite in source.value.composites where !merged.composites.contains(composite) { merged.composites.append(composite) }
            for template in source.value.fetchTemplates where template.entity == name { merged.fetchTemplates.append(template) }
        }
        self.init(merged)
    }

    class func mergedModelImplementation(from bundles: [Bundle]?, forStoreMetadata metadata: [String: Any]) -> NSManagedObjectModel? {
        let models =
            bundles.map { $0.flatMap(ModelLookup.versions(in:)) } ?? ModelLookup.versionsCompiledIn() + ModelLookup.versions(in: .main)
        return NSManagedObjectModel(byMerging: models.map { NSManagedObjectModel($0) }, forStoreMetadata: metadata)
    }

    /// Returns the checksum of each version of a model file, by the version's name.
    ///
    /// - Throws: `CocoaError` for a file that is missing or isn't a model.
    public class func checksumsForVersionedModel(at modelURL: URL) throws -> [String: String] {
        guard FileManager.default.fileExists(atPath: modelURL.path) else {
            throw CocoaError(.fileReadNoSuchFile, sentence: "No model exists at \(modelURL.path).")
        }
        do {
            return try ModelLookup.versions(at: modelURL).mapValues { NSManagedObjectModel($0).versionChecksum }
        } catch {
            throw CocoaError(
                .fileReadCorruptFile, sentence: "The model at \(modelURL.path) cannot be read.", userInfo: [NSUnderlyingErrorKey: error])
        }
    }
}

extension ModelLookup {
    /// Returns all versions of a model file, by name.
    static func versions(at url: URL) throws -> [String: Model] {
        if url.pathExtension == "xcdatamodeld" || url.pathExtension == "xcdatamodel" {
            return try ModelFileReader.read(contentsOf: url).compiled.versions
        }
        return try CompiledModel(contentsOf: url).versions
    }

    /// Returns all versions of all models in a bundle's resources.
    static func versions(in bundle: Bundle) -> [Model] {
        modelFiles(in: bundle).compactMap { try? versions(at: $0) }.flatMap { $0.sorted { $0.key < $1.key }.map(\.value) }
    }

    /// Returns all versions of all models in the program, including those read from files.
    static func known() -> [Model] {
        let files = readFiles.withLock { $0 }.sorted { $0.path < $1.path }
        return versionsCompiledIn() + versions(in: .main)
            + files.compactMap { try? versions(at: $0) }.flatMap { $0.sorted { $0.key < $1.key }.map(\.value) }
    }

    /// Returns the versions of each model compiled into the program.
    static func compiledInVersions() -> [[String: Model]] {
        let texts = ManagedClassLookup.registrations().flatMap { $0.models.sorted { $0.key < $1.key }.map(\.value) }
        return texts.compactMap { try? CompiledModel(data: Data($0.utf8)).versions }
    }

    static func versionsCompiledIn() -> [Model] {
        compiledInVersions().flatMap { $0.sorted { $0.key < $1.key }.map(\.value) }
    }
}
