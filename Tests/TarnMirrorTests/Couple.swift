// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudMirroring
import CoreData
import Foundation
import ManagedModel
import TarnMirror
import Testing

/// Which mirror each of two devices has.
enum Arrangement: CaseIterable {
    case containerAndMirror, mirrorAndContainer, twoMirrors
}

/// Two devices of one user on a server in this process.
struct Couple {
    let cloud: InProcessCloud
    let first: any SyncingDevice
    let second: any SyncingDevice

    init(_ arrangement: Arrangement, model: Model = Library.model) async throws {
        cloud = try InProcessCloud()
        let transports = (try await cloud.addUser("mia", device: "first"), try await cloud.addDevice("second", of: "mia"))
        func device(_ transport: InProcessTransport, hasContainer: Bool) throws -> any SyncingDevice {
            hasContainer ? try ContainerDevice(transport, model: model) : try MirrorDevice(transport, model: model)
        }
        first = try device(transports.0, hasContainer: arrangement == .containerAndMirror)
        second = try device(transports.1, hasContainer: arrangement == .mirrorAndContainer)
    }

    var both: [any SyncingDevice] { [first, second] }

    /// Syncs both until their objects are equal, and returns those.
    @discardableResult
    func converge(sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        try await Pair.converge(both, sourceLocation: sourceLocation)
    }

    /// Syncs both until a picture of their objects is equal, and returns it.
    func converge(
        _ picture: @Sendable (NSManagedObjectContext) throws -> [String], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> [String] {
        for _ in 0..<3 { for device in both { try await device.sync() } }
        let pictures = try both.map { try $0.read(picture) }
        #expect(pictures[0] == pictures[1], sourceLocation: sourceLocation)
        return pictures[0]
    }

    func goOffline() { for device in both { device.transport.goOffline() } }

    func goOnline() { for device in both { device.transport.goOnline() } }

    /// Edits both while neither knows of the other's edit. That of the first reaches the server first.
    func concurrently(
        _ first: @Sendable (NSManagedObjectContext) throws -> Void, second: @Sendable (NSManagedObjectContext) throws -> Void
    ) async throws {
        self.second.transport.goOffline()
        try self.first.edit(first)
        try await self.first.sync()
        try self.second.edit(second)
        self.second.transport.goOnline()
    }
}

/// A value that lost a merge, in the log of either mirror.
struct Loss: Sendable {
    /// Entity, property, value and winner.
    let text: String
    let objectID: NSManagedObjectID?
    let restore: @Sendable (NSManagedObjectContext) throws -> NSManagedObject
}

extension SyncingDevice {
    func losses() async throws -> [Loss] {
        func text(_ entity: String, _ property: String, _ value: Any?, _ winner: Int, _ id: NSManagedObjectID?) -> String {
            "\(entity).\(property) \(value.map { "\($0)" } ?? "–"), winner \(winner)\(id == nil ? ", deleted" : "")"
        }
        switch self {
        case let device as ContainerDevice:
            return try device.cloudContainer.conflicts().map { conflict in
                Loss(
                    text: text(
                        conflict.entityName, conflict.propertyName, conflict.losingValue, conflict.winner.rawValue, conflict.objectID),
                    objectID: conflict.objectID
                ) { try device.cloudContainer.restoreLosingValue(of: conflict, in: $0) }
            }
        case let device as MirrorDevice:
            return try await device.mirror.conflicts().map { conflict in
                Loss(
                    text: text(
                        conflict.entityName, conflict.propertyName, conflict.losingValue, conflict.winner.rawValue, conflict.objectID),
                    objectID: conflict.objectID
                ) { try device.mirror.restoreLosingValue(of: conflict, in: $0) }
            }
        default: return []
        }
    }
}
