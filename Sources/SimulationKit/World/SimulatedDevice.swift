// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ObjectGraph
import SQLiteStore

/// A device: the real container on a file in memory, with a simulated clock, network and disk.
final class SimulatedDevice: @unchecked Sendable {
    // Unchecked: used on the simulation's thread only.
    /// One life of the app.
    struct Life {
        let app: any SimulatedApp
        let transport: SimulatedTransport
    }

    /// A save with an outcome that the checks do not know yet, since the app was killed.
    private struct Open {
        let author: String
        let edit: Edit
    }

    let name: String
    let role: Role
    let kind: AppKind
    private let features: Set<Feature>
    /// Whether push streams are blocked for it.
    let polls: Bool
    private let folder: URL
    let disk: DeviceDisk
    private let agenda: Agenda
    private let executor: SimulationExecutor
    private var random: SeededNumbers
    /// Offset of its clock in seconds.
    private let skew: Double
    var user: String
    var version: Int
    /// Whether the later version of the model declares its lenses.
    var hasLenses = true
    private(set) var life: Life?
    private var open: Open?
    private var saves = 0
    private let changed = Box(false)
    var watch = ViewWatch()
    /// Called while an app with a mirror imports; see ``AppSetup``.
    let importing = Box<() -> Void>({})

    init(
        _ name: String, _ role: Role = .owner, _ kind: AppKind = .container, of user: String, version: Int, in folder: URL,
        _ agenda: Agenda, _ executor: SimulationExecutor, _ random: SeededNumbers, skew: Double, _ features: Set<Feature>,
        polls: Bool = false
    ) throws {
        self.name = name
        self.role = role
        self.kind = kind
        self.features = features
        self.polls = polls
        self.user = user
        self.version = version
        self.folder = folder.appendingPathComponent(name)
        self.agenda = agenda
        self.executor = executor
        self.random = random
        self.skew = skew
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        disk = DeviceDisk(under: self.folder)
    }

    private func model(_ version: Int) -> NSManagedObjectModel { SimulatedModel.model(version, features, hasLenses: hasLenses) }

    var file: URL { folder.appendingPathComponent("Posts.sqlite") }

    // MARK: Life

    /// - Returns: The changes of a save that was committed before the app was killed, if any.
    func boot(_ transport: SimulatedTransport) throws -> Edit? {
        precondition(life == nil, "a device is booted when it is off")
        let setup = AppSetup(
            file: file, model: model(version), role: role, features: features, transport: transport, agenda: agenda, executor: executor,
            random: Box(random.fork()), skew: skew, reachedStep: { [disk] in try disk.reachStep() }, importing: importing)
        let app: any SimulatedApp =
            switch kind {
            case .container: try ContainerApp(setup)
            case .mirror: try MirrorApp(setup)
            }
        app.container.persistentStoreCoordinator.observeCommits { [changed] _ in changed.value = true }
        changed.value = true
        life = Life(app: app, transport: transport)
        defer { open = nil }
        guard let open, let store else { return nil }
        let history = try store.storage.read { try $0.history(after: 0) }
        return history.contains { $0.author == open.author } ? open.edit : nil
    }

    var store: NSPersistentStore? { life?.app.container.persistentStoreCoordinator.persistentStores.first }

    /// Our container; nil for an app without it, and for a device that is off.
    var cloudContainer: NSPersistentCloudKitContainer? { (life?.app as? ContainerApp)?.cloud }

    /// Ends the app as a power failure would: from now on it writes nothing to the disk or the network.
    func kill() throws {
        guard let life else { return }
        disk.fail()
        try close(life)
        disk.mend()
    }

    /// Plans the moment at which the device dies; see ``DeviceDisk``.
    ///
    /// - Returns: The moment, for people.
    func planDeath(atWrite number: Int) -> String {
        guard kind == .mirror, random.percent(60) else { return disk.planDeath(atWrite: number) }
        return disk.planDeath(atStep: Int.random(in: 1...8, using: &random))
    }

    /// Ends the app regularly.
    func quit() throws { if let life { try close(life) } }

    private func close(_ life: Life) throws {
        self.life = nil
        life.transport.end()
        let app = life.app, container = app.container
        try executor.run { await app.stop() }
        for store in container.persistentStoreCoordinator.persistentStores { try? container.persistentStoreCoordinator.remove(store) }
    }

    func discard() throws {
        try quit()
        disk.remove()
    }

    // MARK: Objects

    enum SaveOutcome {
        case nothing
        case saved(Edit)
        /// The outcome is unknown to the app.
        case failed(any Error)
    }

    func save(_ body: (NSManagedObjectContext) throws -> Void) throws -> SaveOutcome {
        guard let life else { return .nothing }
        saves += 1
        let author = "\(name) \(saves)"
        let context = life.app.container.newBackgroundContext()
        return try context.performAndWait {
            context.transactionAuthor = author
            try body(context)
            guard context.hasChanges else { return .nothing }
            let edit = Edit(context)
            do {
                try context.save()
                return .saved(edit)
            } catch {
                open = Open(author: author, edit: edit)
                return .failed(error)
            }
        }
    }

    /// Deletes the persistent history of the store.
    func deleteHistory() throws {
        guard let context = life?.app.container.newBackgroundContext() else { return }
        try context.performAndWait { _ = try context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: .distantFuture)) }
    }

    /// The visible state, if it may have changed since the last call.
    func pictureIfChanged() throws -> Picture? {
        guard changed.value else { return nil }
        changed.value = false
        return try picture()
    }

    /// - Parameter isIncluded: Selects objects.
    func picture(where isIncluded: (NSManagedObject) -> Bool = { _ in true }) throws -> Picture? {
        guard let life else { return nil }
        let context = life.app.container.newBackgroundContext()
        return try context.performAndWait { try Picture(context, where: isIncluded) }
    }

    /// All losing values: each that the app can restore is restored in a separate context, and compared.
    func conflictLog() throws -> (values: Set<String>, faults: [String]) {
        guard let life else { return ([], []) }
        var values: Set<String> = []
        var faults: [String] = []
        let context = life.app.container.newBackgroundContext()
        let conflicts = try life.app.conflicts()
        try context.performAndWait {
            for conflict in conflicts {
                let losing = conflict.losingValue
                let target = (losing as? NSManagedObjectID).flatMap { try? context.existingObject(with: $0) }
                guard let text = target.map(Picture.label) ?? Picture.text(losing) else { continue }
                values.formUnion(ModelChanges.logged(text, of: conflict.property))
                guard let object = try conflict.restore(context) else { continue }
                let restored = object.value(forKey: conflict.property)
                let shown = (restored as? NSManagedObject).map(Picture.label) ?? Picture.text(restored)
                if shown != text { faults.append("the conflict log restores \(shown ?? "nil") instead of \(text)") }
                context.rollback()
            }
        }
        return (values, faults)
    }

    /// Labels and values in the archives that were made when the user changed.
    func archived() throws -> Set<String> {
        var found: Set<String> = []
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
        where name.contains("-archive-") && name.hasSuffix(".sqlite") {
            for version in 1...SimulatedModel.versions {
                let container = NSPersistentContainer(name: "Posts", managedObjectModel: model(version))
                let description = NSPersistentStoreDescription(url: folder.appendingPathComponent(name))
                description.isReadOnly = true
                container.persistentStoreDescriptions = [description]
                var failure: (any Error)?
                container.loadPersistentStores { _, error in failure = error }
                // The other version of the app made it.
                if failure != nil { continue }
                let context = container.newBackgroundContext()
                let picture = try context.performAndWait { try Picture(context) }
                for (label, entry) in picture.entries { found.formUnion([label] + entry.values.values) }
            }
        }
        return found
    }

    func knowsItsUser() throws -> Bool { try store?.storage.read { try SyncMetadataUser.isKnown($0) } ?? false }

    /// Returns `true` if a user signed in whom the server has not confirmed: the store may be archived and emptied.
    func doubtsItsUser() throws -> Bool { try store?.storage.read { try SyncMetadataUser.isUnconfirmed($0) } ?? false }

    /// Damages the sync metadata as only a broken sync engine would.
    func tamper(_ damage: SyncMetadataDamage) throws { try life?.app.tamper(damage) }
}
