// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudMirroring
import CloudWire
import CoreData
import Foundation

/// One life of the app on a device: a container with a loaded store, and its sync.
protocol SimulatedApp: AnyObject, Sendable {
    var container: NSPersistentContainer { get }
    var status: AppStatus { get }

    /// Waits until import and export are idle.
    func sync(timeout: Duration) async throws

    /// Returns the reason of an error of ``sync(timeout:)``; nil for an error that the call must not throw.
    func reason(of error: any Error) -> String?

    func pause() throws
    func resume() throws

    /// Ends sync, and returns once it no longer uses the store.
    func stop() async

    /// The conflict log, oldest entry first.
    func conflicts() throws -> [LoggedConflict]

    /// Damages the sync metadata as only a broken sync engine would.
    func tamper(_ damage: SyncMetadataDamage) throws
}

/// The kinds of apps.
enum AppKind: Sendable {
    /// Syncs by `NSPersistentCloudKitContainer`.
    case container
    /// Syncs by a `TarnMirror` next to an `NSPersistentContainer`.
    case mirror

    /// The end of a line of the trace.
    var suffix: String { self == .mirror ? " and a mirror" : "" }
}

/// A device as an app finds it when it starts.
struct AppSetup: @unchecked Sendable {
    // Unchecked: used on the simulation's thread only.
    let file: URL
    let model: NSManagedObjectModel
    let role: Role
    let features: Set<Feature>
    let transport: SimulatedTransport
    let agenda: Agenda
    let executor: SimulationExecutor
    let random: Box<SeededNumbers>
    /// Offset of the device's clock in seconds.
    let skew: Double
    /// Called between two writes of a mirror; see `MirrorEnvironment.Step`. An error ends the operation there.
    let reachedStep: @Sendable () throws -> Void
    /// Called before a mirror saves the rows of an import: the app may save at this moment.
    let importing: Box<() -> Void>

    /// The time by the device's clock.
    var now: Date { Date(timeIntervalSince1970: 1_900_000_000 + agenda.now + skew) }

    /// Limits of requests in runs with long values and with small batches.
    func limit(_ limits: inout Limits) {
        if features.contains(.assets) { limits.recordBytes = Self.recordBytes }
        if features.contains(.batches) { limits.operationsPerRequest = Self.batchItems }
    }

    /// Bytes of a record in runs with assets, so that values need not be long.
    private static let recordBytes = 1000
    /// Items of a request in runs with small batches.
    private static let batchItems = 3

    /// Creates a container with the store of the device.
    ///
    /// - Parameter describe: Sets options of the store.
    func load<Container: NSPersistentContainer>(_ container: Container, describe: (NSPersistentStoreDescription) -> Void) throws {
        let description = NSPersistentStoreDescription(url: file)
        describe(description)
        container.persistentStoreDescriptions = [description]
        var failure: (any Error)?
        container.loadPersistentStores { _, error in failure = error ?? failure }
        if let failure { throw failure }
    }
}

/// The state of an app's sync, for the checks.
struct AppStatus {
    let isIdle: Bool
    /// Whether an import or export runs.
    let isAsking: Bool
    let pendingCount: Int
    let description: String
}

/// An entry of a conflict log.
struct LoggedConflict {
    let property: String
    /// The object's ID for a relationship.
    let losingValue: Any?
    /// Restores the value in a context; returns nil for a deleted object that the log doesn't restore.
    let restore: (NSManagedObjectContext) throws -> NSManagedObject?
}
