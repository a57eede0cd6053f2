// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel

/// One stage of a migration from the oldest version of a model to the newest.
///
/// Source: developer.apple.com/documentation/coredata/nsmigrationstage
open class NSMigrationStage: NSObject {
    /// A description for developers.
    open var label: String?
    public override init() { super.init() }
}

/// Versions between which each migration can be inferred, oldest first.
open class NSLightweightMigrationStage: NSMigrationStage {
    /// Checksums of the versions, see ``NSManagedObjectModel/versionChecksum``.
    open private(set) var versionChecksums: [String]

    /// Creates a stage of versions, oldest first, by their checksums.
    public init(_ checksums: [String]) {
        versionChecksums = checksums
        super.init()
    }
}

/// A migration to the next version with the app's code before and after it. The migration itself is inferred.
open class NSCustomMigrationStage: NSMigrationStage {
    /// The version before the stage.
    open private(set) var currentModel: NSManagedObjectModelReference
    /// The version after the stage.
    open private(set) var nextModel: NSManagedObjectModelReference
    /// Runs while the store has the current model; ``NSStagedMigrationManager/container`` is open on it.
    open var willMigrateHandler: ((NSStagedMigrationManager, NSCustomMigrationStage) throws -> Void)?
    /// Runs when the store has the next model; ``NSStagedMigrationManager/container`` is open on it.
    ///
    /// If it throws, or the process ends in it, the next opening of the store calls it again: it may find content that it
    /// converted before.
    open var didMigrateHandler: ((NSStagedMigrationManager, NSCustomMigrationStage) throws -> Void)?

    /// Creates a stage between two versions.
    public init(migratingFrom currentModel: NSManagedObjectModelReference, to nextModel: NSManagedObjectModelReference) {
        self.currentModel = currentModel
        self.nextModel = nextModel
        super.init()
    }
}

/// The stages of a store's migration. A store opened with the option ``NSPersistentStoreStagedMigrationManagerOptionKey``
/// runs the stages from its own version on.
///
/// Each stage is a separate migration: one that fails leaves the store at the version reached so far, from which the next
/// opening continues.
///
/// Source: developer.apple.com/documentation/coredata/nsstagedmigrationmanager
open class NSStagedMigrationManager: NSObject, @unchecked Sendable {
    // Unchecked: the container is set and read by the one thread that migrates.
    /// The stages, in order.
    open private(set) var stages: [NSMigrationStage]
    /// The store that is being migrated, for the handlers of a stage; nil at any other time. Its objects are plain
    /// ``NSManagedObject``s, since several versions name the same classes.
    open internal(set) var container: NSPersistentContainer?

    /// Creates a manager of stages, in order.
    public init(_ stages: [NSMigrationStage]) {
        self.stages = stages
        super.init()
    }
}

/// A reference to a version of a model, resolved when it is needed.
///
/// Source: developer.apple.com/documentation/coredata/nsmanagedobjectmodelreference
open class NSManagedObjectModelReference: NSObject {
    private enum Source {
        case model(NSManagedObjectModel)
        case file(URL)
        case hashes([AnyHashable: Any], Bundle?)
        case name(String, Bundle?)
    }

    private let source: Source
    /// The checksum of the version.
    open private(set) var versionChecksum: String

    private init(_ source: Source, _ versionChecksum: String) {
        self.source = source
        self.versionChecksum = versionChecksum
        super.init()
    }

    /// Creates a reference to a model.
    public convenience init(model: NSManagedObjectModel, versionChecksum: String) { self.init(.model(model), versionChecksum) }

    /// Creates a reference to a model file.
    public convenience init(fileURL: URL, versionChecksum: String) { self.init(.file(fileURL), versionChecksum) }

    /// Creates a reference to the version with some entity version hashes.
    ///
    /// - Parameter bundle: nil for the models compiled into the program and those of the main bundle.
    public convenience init(entityVersionHashes versionHash: [AnyHashable: Any], in bundle: Bundle?, versionChecksum: String) {
        self.init(.hashes(versionHash, bundle), versionChecksum)
    }

    /// Creates a reference to a version by name.
    ///
    /// - Parameter modelName: The name of the version, such as `Posts 2`.
    public convenience init(name modelName: String, in bundle: Bundle?, versionChecksum: String) {
        self.init(.name(modelName, bundle), versionChecksum)
    }

    /// The model.
    ///
    /// - Precondition: The model exists, and has the checksum.
    open var resolvedModel: NSManagedObjectModel {
        do { return try resolve() } catch { preconditionFailure(error.localizedDescription) }
    }

    /// - Throws: `CocoaError` 134504 for a missing model or another checksum.
    func resolve() throws -> NSManagedObjectModel {
        let resolved: NSManagedObjectModel? =
            switch source {
            case .model(let model): model
            case .file(let url):
                try? ModelLookup.versions(at: url).values.lazy.map { NSManagedObjectModel($0) }.first {
                    $0.versionChecksum == versionChecksum
                }
            case .hashes(let hashes, let bundle):
                ModelLookup.versionsByName(in: bundle).lazy.map { NSManagedObjectModel($0.model) }.first { model in
                    model.entityVersionHashesByName == hashes as? [String: Data]
                }
            case .name(let name, let bundle):
                ModelLookup.versionsByName(in: bundle).first { $0.name == name }.map { NSManagedObjectModel($0.model) }
            }
        guard let resolved else { throw notFound("cannot be found") }
        guard resolved.versionChecksum == versionChecksum else { throw notFound("has the checksum \(resolved.versionChecksum)") }
        return resolved
    }

    private func notFound(_ reason: String) -> CocoaError {
        let name =
            switch source {
            case .model: "A model"
            case .file(let url): "The model at \(url.path)"
            case .hashes: "The model with the given version hashes"
            case .name(let name, _): "The model '\(name)'"
            }
        return CocoaError(
            .modelReferenceNotFound,
            sentence: "\(name) of a migration stage \(reason); the stage asks for the version with the checksum \(versionChecksum).")
    }
}

extension ModelLookup {
    /// All versions in a bundle, or in the program, with their names.
    static func versionsByName(in bundle: Bundle?) -> [(name: String, model: Model)] {
        let files = modelFiles(in: bundle ?? .main).compactMap { try? versions(at: $0) }
        let compiled = bundle == nil ? compiledInVersions() : []
        return (compiled + files).flatMap { versions in versions.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
    }
}
