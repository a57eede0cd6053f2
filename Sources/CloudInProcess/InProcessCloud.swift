// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudService
import CloudStorageSupport
package import CloudWire
import Foundation
import Synchronization
import SystemSupport

/// A whole server inside a test: the real service on a real store, without sockets, and with a clock that the test
/// moves.
///
///     let cloud = try InProcessCloud()
///     let tablet = try await cloud.addUser("mia", device: "tablet")
///     let phone = try await cloud.addDevice("phone", of: "mia")
///     CKContainer.connect(Connection(environment: .development, transport: tablet), for: "iCloud.org.example.notes")
///
/// The data are in a folder that is removed with this object.
package final class InProcessCloud: Sendable {
    /// Prefix of asset addresses. No server listens there.
    static let baseURL = "http://tarn.in-process.invalid"

    package let clock: HandDrivenClock
    private let data: any InProcessData
    private let limits: Limits
    private let profile: ServiceProfile
    private let offered: Mutex<Set<Capability>>
    private let random: SeededBytes
    private let firstKey: [UInt8]?
    private let hasSnapshots: Bool
    private let running: Mutex<Running?>

    private struct Running: Sendable {
        var data: OpenInProcessData
        var hub: PushHub
        var service: CloudService
    }

    /// - Parameters:
    ///   - seed: Determines identifiers.
    ///   - firstKey: The server's authentication key, 32 bytes, which determines change tokens and the users' record names.
    ///     nil for a random one, so that each server has its own identity.
    ///   - start: Milliseconds since 1970 UTC.
    ///   - offered: The extensions of the documented protocol. A server of another vendor offers none.
    ///   - profile: `.apple` for a server that has only what Apple documents.
    ///   - hasSnapshots: Whether the server builds snapshots of zones, by tasks whose order no seed determines.
    ///   - data: Where the data are; nil for a folder with an SQLite database.
    package init(
        limits: Limits = Limits(), seed: UInt64 = 1, firstKey: [UInt8]? = nil, start: Int64 = 1_900_000_000_000,
        offered: Set<Capability> = Set(Capability.allCases), profile: ServiceProfile = .tarn,
        hasSnapshots: Bool = false, data: (any InProcessData)? = nil
    ) throws {
        self.profile = profile
        self.hasSnapshots = hasSnapshots
        self.offered = Mutex(offered)
        clock = HandDrivenClock(milliseconds: start)
        self.data = data ?? FolderData()
        self.limits = profile.limits(limits)
        random = SeededBytes(seed: seed)
        self.firstKey = firstKey
        running = Mutex(nil)
        try self.start()
    }

    // MARK: Users and devices

    /// Creates a user, and returns the transport of their first device.
    package func addUser(_ name: String, device: String) async throws -> InProcessTransport {
        let token = try await store().addUser(name: name, deviceLabel: device, now: clock.milliseconds)
        return InProcessTransport(cloud: self, token: token, deviceID: device)
    }

    /// Replaces the schema of a container.
    package func importSchema(_ text: String, into containerIdentifier: String) async throws {
        let (clock, random) = (clock, random)
        let store = try store()
        let service = SchemaService(
            containerIdentifier: containerIdentifier, engine: Engine(limits: limits, sealer: store.sealer), storage: store,
            surroundings: CloudService.Surroundings(now: { clock.milliseconds }, randomBytes: { random.next($0) }))
        _ = try await service.importSchema(try ContainerSchema(text: text))
    }

    /// Gives a user an address by which other users find them.
    package func introduce(_ name: String, givenName: String, emailAddress: String) async throws {
        try await store().updateProfile(ofUser: name) { profile in
            profile.name.givenName = givenName
            profile.emailAddress = emailAddress
            profile.isDiscoverable = true
        }
    }

    /// Returns the transport of another device of a user.
    ///
    /// - Parameter executor: The executor that reads responses. `nil` is the default executor.
    package func addDevice(_ device: String, of user: String, executor: (any TaskExecutor)? = nil) async throws -> InProcessTransport {
        let token = try await store().addToken(userName: user, deviceLabel: device, now: clock.milliseconds)
        return InProcessTransport(cloud: self, token: token, deviceID: device, executor: executor)
    }

    /// Returns the transport of a device without a signed-in user.
    package func addVisitor(device: String) -> InProcessTransport {
        InProcessTransport(cloud: self, token: nil, deviceID: device)
    }

    // MARK: The web

    /// Creates an API token of a container in development.
    package func addAPIToken(container containerIdentifier: String) async throws -> String {
        let token = APIToken(
            containerIdentifier: containerIdentifier, environment: .development, label: "test", callbackURL: nil, allowedOrigins: [],
            expires: nil)
        return try await store().addAPIToken(token, now: clock.milliseconds)
    }

    /// Signs a user in on the sign-in page of a container, and returns the web auth token.
    package func webAuthToken(of user: String, container containerIdentifier: String) async throws -> String {
        guard let service else { throw StorageFailure(.unavailable, "the server is stopped") }
        let password = "password of \(user) for tests"
        // A new password ends the user's sessions.
        if try await !service.signIns.hasPassword(accountName: user) { try await store().setPassword(password, ofUser: user) }
        let place = SignInPlace(containerIdentifier: containerIdentifier, environment: .development, isKept: false)
        guard case .signedIn(let token) = try await service.signIns.signIn(name: user, password: password, to: place, network: "") else {
            throw StorageFailure(.unavailable, "the user has a second factor")
        }
        return token
    }

    // MARK: Schema

    /// The operator's access to the schema of a container.
    ///
    ///     try await cloud.schema(of: "iCloud.org.example.notes").importSchema(ContainerSchema(text: text))
    package func schema(of containerIdentifier: String) throws -> SchemaService {
        let (store, clock, random) = (try store(), clock, random)
        return SchemaService(
            containerIdentifier: containerIdentifier, engine: Engine(limits: limits, sealer: store.sealer), storage: store,
            surroundings: CloudService.Surroundings(now: { clock.milliseconds }, randomBytes: { random.next($0) }))
    }

    /// Adds all possible indexes to fields of a record type in development. System fields have their schema names, such
    /// as `___recordID`.
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

    /// Replaces a user's roles of a container's schema in development.
    package func setRoles(_ roles: Set<String>, of user: String, container containerIdentifier: String) async throws {
        guard let service else { throw StorageFailure(.unavailable, "the server is stopped") }
        try await service.roles.set(
            roles, ofUser: try await recordName(of: user, containerIdentifier), containerIdentifier: containerIdentifier,
            environment: .development)
    }

    /// Deletes a zone of a user's private database in development, as the operator does. Devices are not notified.
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
        let outcome = try await store.write(call.partition) {
            try engine.zones.delete(ZoneID(zoneName: zoneName), because: reason, in: $0, call)
        }
        for key in outcome.zonesToEmpty {
            try await store.empty(ZoneToEmpty(partition: call.partition, key: key, time: call.now))
        }
    }

    private func recordName(of user: String, _ containerIdentifier: String) async throws -> String {
        let store = try store()
        guard let account = try await store.account(named: user) else {
            throw StorageFailure.unknownUser
        }
        return try await store.userRecordName(
            account: account, containerIdentifier: containerIdentifier,
            proposal: store.sealer.userRecordName(ofAccount: account, in: containerIdentifier))
    }

    // MARK: Content

    package struct DatabaseContent: Sendable {
        package var scope: DatabaseScope
        /// User record name of the owner. Empty in the public database.
        package var owner: String
        package var zones: [ZoneContent]
    }

    package struct ZoneContent: Sendable {
        package var name: String
        package var records: [Record]
    }

    /// The stored content of a container's databases in development: zones and records by name.
    package func databases(of containerIdentifier: String) async throws -> [DatabaseContent] {
        let store = try store()
        var databases: [DatabaseContent] = []
        let partitions = try await store.partitions(containerIdentifier: containerIdentifier, environment: .development)
        for partition in partitions where partition.scope != .shared {
            let zones = try await store.read(partition) { view -> [ZoneContent] in
                var contents: [Int64: ZoneContent] = [:]
                for zone in try view.zones() { contents[zone.key] = ZoneContent(name: zone.name, records: []) }
                var position: RecordPlace?
                while true {
                    let page = try view.records(after: position, limit: 500)
                    guard let last = page.last else { break }
                    for (key, record) in page { contents[key.zone]?.records.append(record) }
                    position = last.place
                }
                return contents.values.sorted { $0.name < $1.name }
            }
            databases.append(
                DatabaseContent(scope: partition.scope, owner: partition.scope == .public ? "" : partition.owner, zones: zones))
        }
        return databases.sorted { ($0.scope.rawValue, $0.owner) < ($1.scope.rawValue, $1.owner) }
    }

    // MARK: Lifecycle

    /// Starts the server again after `stop`, on the same data.
    ///
    /// - Parameter offering: The capabilities to offer. `nil` offers those of before.
    package func start(offering: Set<Capability>? = nil) throws {
        let offered = offered.withLock { offered in
            offered = offering ?? offered
            return offered
        }
        let opened = try data.open(firstKey: firstKey)
        let (store, hub) = (opened.storage, PushHub())
        let (clock, random) = (clock, random)
        let service = CloudService(
            engine: Engine(limits: limits, sealer: store.sealer), storage: store, accounts: store, assets: store,
            push: hub,
            surroundings: CloudService.Surroundings(now: { clock.milliseconds }, randomBytes: { random.next($0) }),
            offered: offered, profile: profile, snapshots: hasSnapshots ? try SnapshotFolder(data: data.path) : nil)
        let previous = running.withLock { running in
            defer { running = Running(data: opened, hub: hub, service: service) }
            return running
        }
        precondition(previous == nil, "a running server cannot be started")
    }

    /// Copies the server's data to a new folder, as `tarn backup` does.
    package func backUp(to path: String) async throws { try await open().backUp(path) }

    /// Stops the server, replaces its data by a backup, as `tarn restore` does, and starts it again.
    ///
    /// - Parameter keepsHistory: Whether the folder is only copied, so that sync tokens stay valid of which the data know nothing.
    package func restore(from backup: String, keepsHistory: Bool = false) async throws {
        try stop()
        // No two restores are at one time.
        if !keepsHistory { clock.advance(by: .milliseconds(1)) }
        try await data.restore(from: backup, at: keepsHistory ? nil : clock.milliseconds)
        try start()
    }

    /// Stops the server: open connections end, and requests fail until `start`.
    package func stop() throws {
        let ended = running.withLock { running in
            defer { running = nil }
            return running
        }
        ended?.hub.close()
        try ended?.data.storage.close()
    }

    /// Waits until no snapshot of a zone is being built.
    package func snapshotsAreIdle() async { await service?.snapshots.idle() }

    /// Stops the server permanently and removes its data, even if references to this object remain.
    package func discard() throws {
        defer { data.remove() }
        try stop()
    }

    /// The path of the data folder.
    package var path: String { data.path }

    package var isStopped: Bool { running.withLock { $0 == nil } }

    /// Sends a heartbeat on every push stream.
    package func beat() { running.withLock { $0?.hub }?.beat() }

    /// The number of open push streams.
    package var listeners: Int { running.withLock { $0?.hub }?.listeners ?? 0 }

    /// Runs the hourly cleanup of the server.
    package func removeExpired() async throws { try await store().removeExpired(now: clock.milliseconds) }

    /// Delivers the pending notifications to participants, as the server does when it starts and every hour.
    package func deliverPendingNews() async throws {
        guard let service else { throw StorageFailure(.unavailable, "the server is stopped") }
        try await service.announcements.deliverPending()
    }

    /// The service, while the server runs.
    var service: CloudService? { running.withLock { $0?.service } }

    private func store() throws -> any OperatedStorage { try open().storage }

    private func open() throws -> OpenInProcessData {
        guard let data = running.withLock({ $0?.data }) else {
            throw StorageFailure(.unavailable, "the server is stopped")
        }
        return data
    }
}

/// A clock that stands still until the test moves it.
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

/// Bytes that are determined by a seed (SplitMix64).
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
