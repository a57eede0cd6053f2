// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
package import CloudService
package import CloudWire
import Foundation
import Synchronization

/// A whole server inside a test: the real service on a real store, without sockets, with a clock that moves when it is
/// moved.
///
///     let cloud = try InProcessCloud()
///     let tablet = try await cloud.addUser("mia", device: "tablet")
///     let phone = try await cloud.addDevice("phone", of: "mia")
///     CKContainer.connect(Connection(environment: .development, transport: tablet), for: "iCloud.org.example.notes")
///
/// Its data is in a folder that goes with it.
package final class InProcessCloud: Sendable {
    /// How addresses of assets begin. Nothing listens there.
    static let baseURL = "http://tarn.in-process.invalid"

    package let clock: HandDrivenClock
    private let folder: ScratchFolder
    private let limits: Limits
    private let offered: Mutex<Set<Capability>>
    private let random: SeededBytes
    private let running: Mutex<Running?>

    private struct Running: Sendable {
        var store: SQLiteServerStore
        var hub: PushHub
        var service: CloudService
    }

    /// - Parameters:
    ///   - seed: Decides identifiers and record names of users.
    ///   - start: Milliseconds since 1970 UTC.
    ///   - offered: What goes beyond the documented protocol; a server of another make offers nothing.
    package init(
        limits: Limits = Limits(), seed: UInt64 = 1, start: Int64 = 1_900_000_000_000,
        offered: Set<Capability> = Set(Capability.allCases)
    ) throws {
        self.offered = Mutex(offered)
        clock = HandDrivenClock(milliseconds: start)
        folder = ScratchFolder("tarn-cloud")
        self.limits = limits
        random = SeededBytes(seed: seed)
        running = Mutex(nil)
        try self.start()
    }

    // MARK: Users and devices

    /// Makes a user and returns the transport of their first device.
    package func addUser(_ name: String, device: String) async throws -> InProcessTransport {
        let token = try await store().addUser(name: name, deviceLabel: device, now: clock.milliseconds)
        return InProcessTransport(cloud: self, token: token, deviceID: device)
    }

    /// Puts a schema in place of a container's.
    package func importSchema(_ text: String, into containerIdentifier: String) async throws {
        let (clock, random) = (clock, random)
        let store = try store()
        let service = SchemaService(
            containerIdentifier: containerIdentifier, engine: Engine(limits: limits, sealer: store.sealer), storage: store,
            surroundings: CloudService.Surroundings(now: { clock.milliseconds }, randomBytes: { random.next($0) }))
        _ = try await service.importSchema(try ContainerSchema(text: text))
    }

    /// Lets a user be found by an address.
    package func introduce(_ name: String, givenName: String, emailAddress: String) async throws {
        try await store().updateProfile(ofUser: name) { profile in
            profile.name.givenName = givenName
            profile.emailAddress = emailAddress
            profile.isDiscoverable = true
        }
    }

    /// Returns the transport of another device of a user.
    ///
    /// - Parameter executor: Where its answers are read; nil is wherever there is room.
    package func addDevice(_ device: String, of user: String, executor: (any TaskExecutor)? = nil) async throws -> InProcessTransport {
        let token = try await store().addToken(userName: user, deviceLabel: device, now: clock.milliseconds)
        return InProcessTransport(cloud: self, token: token, deviceID: device, executor: executor)
    }

    /// The transport of a device on which nobody is signed in.
    package func addVisitor(device: String) -> InProcessTransport {
        InProcessTransport(cloud: self, token: nil, deviceID: device)
    }

    // MARK: Schema

    /// What the operator does with the schema of a container.
    ///
    ///     try await cloud.schema(of: "iCloud.org.example.notes").importSchema(ContainerSchema(text: text))
    package func schema(of containerIdentifier: String) throws -> SchemaService {
        let (store, clock, random) = (try store(), clock, random)
        return SchemaService(
            containerIdentifier: containerIdentifier, engine: Engine(limits: limits, sealer: store.sealer), storage: store,
            surroundings: CloudService.Surroundings(now: { clock.milliseconds }, randomBytes: { random.next($0) }))
    }

    /// Gives fields of a record type in development all the indexes they can have; system fields by their names in the
    /// schema, such as `___recordID`.
    package func addIndexes(toType recordType: String, fields: [String], container containerIdentifier: String) async throws {
        let service = try schema(of: containerIdentifier)
        var schema = try await service.export(.development)
        var type = schema.types[recordType] ?? ContainerSchema.RecordType(grants: .standard)
        for name in fields {
            if let system = QueryKey.SystemField(internalName: name) {
                type.schema.systemIndexes[system] = FieldIndexes.possible(forType: system.type)
            } else if let field = type.schema.fields[name] {
                type.schema.fields[name]?.indexes = FieldIndexes.possible(forType: field.type)
            }
        }
        schema.types[recordType] = type
        _ = try await service.importSchema(schema)
    }

    /// Gives a user roles of a container's schema in development, in place of those before.
    package func setRoles(_ roles: Set<String>, of user: String, container containerIdentifier: String) async throws {
        guard let service else { throw StorageFailure(.unavailable, "the server is stopped") }
        try await service.setRoles(
            roles, ofUser: try await recordName(of: user, containerIdentifier), containerIdentifier: containerIdentifier,
            environment: .development)
    }

    /// Deletes a zone of a user's private database in development, as the operator does. Devices are not told.
    package func deleteZone(
        _ zoneName: String, of user: String, because reason: ZoneDeletionReason, container containerIdentifier: String
    ) async throws {
        let store = try store()
        let (engine, clock, random) = (Engine(limits: limits, sealer: store.sealer), clock, random)
        let owner = try await recordName(of: user, containerIdentifier)
        let call = Call(
            partition: Partition(containerIdentifier: containerIdentifier, environment: .development, owner: owner),
            caller: Caller(userRecordName: owner, deviceID: "", kind: .operator), now: clock.milliseconds, baseURL: "",
            makeIdentifier: { Hex.text(random.next(16)) })
        _ = try await store.write(call.partition) { try engine.deleteZone(ZoneID(zoneName: zoneName), because: reason, in: $0, call) }
    }

    private func recordName(of user: String, _ containerIdentifier: String) async throws -> String {
        let store = try store()
        guard let account = try await store.account(named: user) else {
            throw StorageFailure(.unknownName, "there is no user of this name")
        }
        return try await store.userRecordName(
            account: account, containerIdentifier: containerIdentifier, proposal: "_" + Hex.text(random.next(16)))
    }

    // MARK: What is there

    package struct DatabaseContent: Sendable {
        package var scope: DatabaseScope
        /// User record name of the owner; empty in the public database.
        package var owner: String
        package var zones: [ZoneContent]
    }

    package struct ZoneContent: Sendable {
        package var name: String
        package var records: [Record]
    }

    /// Everything in the databases of a container in development, as it is stored: zones and records by name.
    package func databases(of containerIdentifier: String) async throws -> [DatabaseContent] {
        let store = try store()
        var databases: [DatabaseContent] = []
        let partitions = try await store.partitions(containerIdentifier: containerIdentifier, environment: .development)
        for partition in partitions where partition.scope != .shared {
            let zones = try await store.read(partition) { view -> [ZoneContent] in
                var contents: [Int64: ZoneContent] = [:]
                for zone in try view.zones() { contents[zone.key] = ZoneContent(name: zone.name, records: []) }
                var place: RecordPlace?
                while true {
                    let page = try view.records(after: place, limit: 500)
                    guard let last = page.last else { break }
                    for (place, record) in page { contents[place.zone]?.records.append(record) }
                    place = last.place
                }
                return contents.values.sorted { $0.name < $1.name }
            }
            databases.append(
                DatabaseContent(scope: partition.scope, owner: partition.scope == .public ? "" : partition.owner, zones: zones))
        }
        return databases.sorted { ($0.scope.rawValue, $0.owner) < ($1.scope.rawValue, $1.owner) }
    }

    // MARK: The server's life

    /// Starts the server again after `stop`, on the same data.
    ///
    /// - Parameter offering: What it offers from now on; nil is what it did before.
    package func start(offering: Set<Capability>? = nil) throws {
        let offered = offered.withLock { offered in
            offered = offering ?? offered
            return offered
        }
        let store = try SQLiteServerStore(path: folder.path, use: .server)
        let hub = PushHub()
        let (clock, random) = (clock, random)
        let service = CloudService(
            engine: Engine(limits: limits, sealer: store.sealer), storage: store, accounts: store, assets: store,
            push: hub,
            surroundings: CloudService.Surroundings(now: { clock.milliseconds }, randomBytes: { random.next($0) }),
            offered: offered)
        let previous = running.withLock { running in
            defer { running = Running(store: store, hub: hub, service: service) }
            return running
        }
        precondition(previous == nil, "a server that runs is started again")
    }

    /// Copies the server's data to a new folder, as `tarn backup` does.
    package func backUp(to path: String) async throws { _ = try await store().backUp(to: path) }

    /// Stops the server, puts a backup in the place of its data, as `tarn restore` does, and starts it again.
    package func restore(from backup: String) async throws {
        try stop()
        try FileManager.default.removeItem(atPath: folder.path)
        try await SQLiteServerStore.restore(from: backup, to: folder.path)
        try start()
    }

    /// Ends the server: held connections end, and devices find nobody until `start`.
    package func stop() throws {
        let ended = running.withLock { running in
            defer { running = nil }
            return running
        }
        ended?.hub.close()
        try ended?.store.close()
    }

    /// Ends the server for good, and removes what it stored, whoever still holds this.
    package func discard() throws {
        defer { folder.remove() }
        try stop()
    }

    /// Where its data is.
    package var path: String { folder.path }

    package var isStopped: Bool { running.withLock { $0 == nil } }

    /// Sends a heartbeat on every held connection.
    package func beat() { running.withLock { $0?.hub }?.beat() }

    /// How many devices hold a push stream.
    package var listeners: Int { running.withLock { $0?.hub }?.listeners ?? 0 }

    /// Does what the server does every hour.
    package func removeExpired() async throws { try await store().removeExpired(now: clock.milliseconds) }

    /// Tells participants what an earlier life of the server left untold, as the server does when it starts, and every hour.
    package func deliverPendingNews() async throws {
        guard let service else { throw StorageFailure(.unavailable, "the server is stopped") }
        try await service.deliverPendingNews()
    }

    /// The service while the server runs.
    var service: CloudService? { running.withLock { $0?.service } }

    private func store() throws -> SQLiteServerStore {
        guard let store = running.withLock({ $0?.store }) else {
            throw StorageFailure(.unavailable, "the server is stopped")
        }
        return store
    }
}

/// A clock that stands still until it is moved.
package final class HandDrivenClock: Sendable {
    private let time: Mutex<Int64>

    package init(milliseconds: Int64) {
        time = Mutex(milliseconds)
    }

    /// Milliseconds since 1970 UTC.
    package var milliseconds: Int64 { time.withLock { $0 } }

    package func advance(by duration: Duration) {
        time.withLock { $0 += Int64(duration / .milliseconds(1)) }
    }
}

/// Bytes that follow from a seed (SplitMix64).
final class SeededBytes: Sendable {
    private let state: Mutex<UInt64>

    init(seed: UInt64) {
        state = Mutex(seed)
    }

    func next(_ count: Int) -> [UInt8] {
        state.withLock { state in
            var bytes: [UInt8] = []
            while bytes.count < count {
                state &+= 0x9E37_79B9_7F4A_7C15
                var mixed = state
                mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
                mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
                mixed ^= mixed >> 31
                withUnsafeBytes(of: mixed) { bytes.append(contentsOf: $0) }
            }
            return Array(bytes.prefix(count))
        }
    }
}
