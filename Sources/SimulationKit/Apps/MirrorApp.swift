// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ObjectGraph
import TarnMirror

/// An app with a container of plain Core Data, and a mirror next to it.
final class MirrorApp: SimulatedApp, @unchecked Sendable {
    // Unchecked: used on the simulation's thread only.
    let container: NSPersistentContainer
    private var mirror: TarnMirror
    private let setup: AppSetup
    private let pollInterval: Duration

    init(_ setup: AppSetup) throws {
        self.setup = setup
        container = NSPersistentContainer(name: "Posts", managedObjectModel: setup.model)
        try setup.load(container) { description in
            for key in [NSPersistentHistoryTrackingKey, NSPersistentStoreRemoteChangeNotificationPostOptionKey] {
                description.setOption(NSNumber(value: true), forKey: key)
            }
        }
        pollInterval = .seconds(setup.random.value.seconds(20...600))
        mirror = try Self.mirror(container, setup, pollInterval)
        mirror.start()
    }

    private static func mirror(_ container: NSPersistentContainer, _ setup: AppSetup, _ pollInterval: Duration) throws -> TarnMirror {
        let random = setup.random
        var environment = MirrorEnvironment(
            now: { setup.now }, sleep: { [agenda = setup.agenda] in try await agenda.sleep($0 / .seconds(1)) },
            random: { random.value.seconds(0...1) }, makeName: { random.value.name() })
        environment.executor = setup.executor
        environment.reached = { step in
            try setup.reachedStep()
            if step == .journalWritten { setup.importing.value() }
        }
        setup.limit(&environment.limits)
        // Requests of a mirror are transactions of their own: small ones carry parts of saves.
        if setup.features.contains(.wholeSaves) { environment.limits.operationsPerRequest = Limits().operationsPerRequest }
        var options = TarnMirror.Options(
            containerIdentifier: ContainerApp.identifier, server: "https://tarn.invalid", token: "in process")
        options.environment = .development
        options.pollInterval = pollInterval
        return try TarnMirror(
            container: container, store: nil, options: options, transport: MirrorConnection(setup.transport),
            environment: environment)
    }

    var status: AppStatus {
        let status = mirror.status
        let isAsking =
            switch status.activity {
            case .importing, .exporting: true
            default: false
            }
        return AppStatus(
            isIdle: status.activity == .idle && status.rejectedCount == 0, isAsking: isAsking, pendingCount: status.pendingCount,
            description: "\(status)")
    }

    func sync(timeout: Duration) async throws { try await mirror.sync(timeout: timeout) }

    func reason(of error: any Error) -> String? {
        error is CancellationError ? "\(error)" : (error as? TarnMirror.Failure)?.reason
    }

    /// A mirror has no pause: the app stops it, and creates another one.
    func pause() throws { try setup.executor.run { [mirror] in await mirror.stop() } }

    func resume() throws {
        mirror = try Self.mirror(container, setup, pollInterval)
        mirror.start()
    }

    func stop() async { await mirror.stop() }

    func conflicts() throws -> [LoggedConflict] {
        try setup.executor.run { [mirror] in try await mirror.conflicts() }.map { conflict in
            LoggedConflict(property: conflict.propertyName, losingValue: conflict.losingValue) { context in
                guard let id = conflict.objectID, let object = try? context.existingObject(with: id) else { return nil }
                let value = conflict.losingValue
                object.setValue(
                    try (value as? NSManagedObjectID).map { try context.existingObject(with: $0) } ?? value, forKey: conflict.propertyName)
                return object
            }
        }
    }

    /// The metadata of a mirror are in a file of their own: only its public API reaches them.
    func tamper(_ damage: SyncMetadataDamage) throws {
        guard damage == .emptiesConflictLog else { return }
        try setup.executor.run { [mirror] in try await mirror.forgetConflicts(try await mirror.conflicts()) }
    }
}
