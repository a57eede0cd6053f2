// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ObjectGraph
import SQLiteStore

/// An app with our container.
final class ContainerApp: SimulatedApp {
    static let identifier = "iCloud.org.example.simulation"

    let cloud: NSPersistentCloudKitContainer
    var container: NSPersistentContainer { cloud }

    init(_ setup: AppSetup) throws {
        cloud = NSPersistentCloudKitContainer(name: "Posts", managedObjectModel: setup.model)
        cloud.environment = Self.environment(setup)
        try setup.load(cloud) { description in
            let options = NSPersistentCloudKitContainerOptions(containerIdentifier: Self.identifier)
            options.databaseScope = setup.role.scope
            if setup.features.contains(.extensions) {
                options.modelExtensions = [.orderedRelationships, .uniquenessConstraints, .requiredValues]
            }
            description.cloudKitContainerOptions = options
        }
    }

    private static func environment(_ setup: AppSetup) -> SyncEnvironment {
        let (random, features, transport) = (setup.random, setup.features, setup.transport)
        var environment = SyncEnvironment(
            now: { setup.now }, sleep: { [agenda = setup.agenda] in try await agenda.sleep($0 / .seconds(1)) },
            random: { random.value.seconds(0...1) }, makeName: { random.value.name() })
        environment.executor = setup.executor
        environment.isDeterministic = true
        setup.limit(&environment.limits)
        if features.contains(.batches), !features.contains(.wholeSaves) { environment.requestsPerBatch = 1 }
        if features.contains(.wholeSaves) {
            environment.stagingBytesMax = [0, 3000, environment.stagingBytesMax][Int(random.value.seconds(0...2.99))]
        }
        let account = AccountTransport(base: transport.base, simulation: setup.executor)
        environment.container = { identifier in
            CKContainer(identifier: identifier, connection: OwnConnection(Connection(environment: .development, transport: account)))
        }
        environment.connect = { identifier, scope in
            CloudDatabaseClient(containerIdentifier: identifier, environment: .development, scope: scope.wire, transport: transport)
        }
        return environment
    }

    var status: AppStatus {
        let status = cloud.syncStatus
        let isAsking =
            switch status.activity {
            case .importing, .exporting: true
            default: false
            }
        return AppStatus(
            isIdle: status.activity == .idle, isAsking: isAsking, pendingCount: status.pendingCount, description: "\(status)")
    }

    func sync(timeout: Duration) async throws { try await cloud.sync(timeout: timeout) }

    func reason(of error: any Error) -> String? {
        error is CancellationError ? "\(error)" : (error as? CKError)?.localizedDescription
    }

    func pause() { cloud.pauseSyncing() }

    func resume() { cloud.resumeSyncing() }

    func stop() async { await cloud.stopSyncing() }

    func conflicts() throws -> [LoggedConflict] {
        try cloud.conflicts().map { conflict in
            LoggedConflict(property: conflict.propertyName, losingValue: conflict.losingValue) { [cloud] in
                try cloud.restoreLosingValue(of: conflict, in: $0)
            }
        }
    }

    func tamper(_ damage: SyncMetadataDamage) throws {
        try cloud.persistentStoreCoordinator.persistentStores.first?.storage.write { try damage.apply($0) }
    }
}
