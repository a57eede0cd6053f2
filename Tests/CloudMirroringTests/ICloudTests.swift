// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudService
import CloudWire
import CoreData
import Foundation
import ManagedModel
import Synchronization
import TestBasics
import Testing

/// Stores that are mirrored by Apple's documented web services, on a server that has nothing else: web auth tokens that are valid for
/// one request, no capability, no subscription to a database, indexes that lag.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct ICloudTests {
    /// A device's connection, which a sign-in replaces.
    private final class Line: Sendable {
        let cloud: InProcessCloud
        let base: InProcessTransport
        private let wire: any CloudTransport
        let tokens: WebAuthTokenStore
        private let apiToken: CKContainer.Configuration.Token
        private let user: String
        private let transport: Mutex<WebServicesTransport>

        /// - Parameter wire: The transport below the tokens, for faults.
        init(
            _ cloud: InProcessCloud, _ user: String, apiToken: String, device: String,
            over wire: (InProcessTransport) -> any CloudTransport = { $0 }
        ) async throws {
            self.cloud = cloud
            self.user = user
            base = cloud.addVisitor(device: device)
            self.wire = wire(base)
            let tokens = try WebAuthTokenStore(TestScope.temporaryFolder().appendingPathComponent("session.json"))
            self.tokens = tokens
            // Devices are closed before.
            TestScope.close(tokens) {
                await tokens.close()
                return []
            }
            self.apiToken = .init(apiToken)
            transport = Mutex(WebServicesTransport(self.wire, apiToken: self.apiToken, tokens: tokens))
            try await signIn()
        }

        /// Signs in as an app does after its user has.
        func signIn() async throws {
            try tokens.signIn(try await cloud.webAuthToken(of: user, container: Device.containerIdentifier))
            let next = WebServicesTransport(wire, apiToken: apiToken, tokens: tokens)
            transport.withLock { $0 = next }
        }

        var present: WebServicesTransport { transport.withLock { $0 } }
    }

    private static let types = ["CD_Post", "CD_Tag", "CD_Attachment", "CD_ImageData", "CDMR"]

    private func cloud() async throws -> (InProcessCloud, apiToken: String) {
        let cloud = try InProcessCloud(profile: .apple)
        for user in ["mia", "bo"] { _ = try await cloud.addUser(user, device: "tablet") }
        for type in Self.types {
            try await cloud.addIndexes(toType: type, fields: ["___recordID", "___modTime"], container: Device.containerIdentifier)
        }
        return (cloud, try await cloud.addAPIToken(container: Device.containerIdentifier))
    }

    private func device(
        _ name: String, _ line: Line, model: Model = Posts.model, describe: (NSPersistentStoreDescription) throws -> Void = { _ in }
    ) throws -> Device {
        try Device(
            name, line.base, model: model, describe: describe,
            configure: { environment in
                environment.connect = { identifier, scope in
                    CloudDatabaseClient(
                        containerIdentifier: identifier, environment: .development, scope: scope.wire, transport: line.present,
                        dialect: .webServices)
                }
            })
    }

    private func sync(_ devices: Device...) async throws {
        for device in devices { try await device.container.sync(timeout: .seconds(600)) }
    }

    @Test func twoDevicesConvergeInThePrivateDatabase() async throws {
        let (cloud, apiToken) = try await cloud()
        let lines = [
            try await Line(cloud, "mia", apiToken: apiToken, device: "tablet"),
            try await Line(cloud, "mia", apiToken: apiToken, device: "phone"),
        ]
        let (tablet, phone) = (try device("tablet", lines[0]), try device("phone", lines[1]))
        // More than a request may have.
        try tablet.edit { context in for number in 0..<450 { context.insert("Post", ["title": "\(number)"]) } }
        try tablet.edit { context in
            let post = context.insert("Post", ["title": "With image"])
            post.setValue(Set([context.insert("Tag", ["name": "travel"])]), forKey: "tags")
            let image = context.insert("ImageData", ["data": Data(repeating: 9, count: 2_000_000)])
            context.insert("Attachment", ["post": post, "imageData": image])
        }
        try await sync(tablet, phone)
        #expect(try phone.dump == tablet.dump)
        #expect(try phone.read { try $0.all("Post").count } == 451)

        try phone.edit { context in
            try context.post(titled: "7")?.setValue("Seven", forKey: "title")
            if let post = try context.post(titled: "8") { context.delete(post) }
        }
        try tablet.edit { try $0.post(titled: "7")?.setValue("Content", forKey: "content") }
        try await sync(phone, tablet, phone)
        #expect(try phone.dump == tablet.dump)
        #expect(try tablet.dump.contains("content Content  title Seven"))
        #expect(try tablet.read { try $0.post(titled: "8") == nil })
        #expect(lines.allSatisfy { $0.tokens.session != nil })
        #expect(lines.allSatisfy { !$0.base.log.contains("push/stream") })
    }

    /// The private database's change reaches the other device by the web courier.
    @Test func theWebCourierWakesTheOtherDevice() async throws {
        let (cloud, apiToken) = try await cloud()
        let tablet = try device("tablet", try await Line(cloud, "mia", apiToken: apiToken, device: "tablet"))
        let line = try await Line(cloud, "mia", apiToken: apiToken, device: "phone")
        let phone = try device("phone", line)
        try await sync(tablet, phone)
        try await until { line.base.log.contains(where: { $0.hasPrefix("1/") }) }
        try tablet.edit { $0.insert("Post", ["title": "News"]) }
        try await sync(tablet)
        try await phone.until { _ in try phone.read { try $0.post(titled: "News") != nil } }
    }

    /// Notifications may miss changes: a subscription to a zone is less than one to the database.
    @Test(.timeLimit(.minutes(2))) func aStorePollsBesideTheWebCourier() async throws {
        let (cloud, apiToken) = try await cloud()
        let tablet = try device("tablet", try await Line(cloud, "mia", apiToken: apiToken, device: "tablet"))
        let (polls, poll) = AsyncStream.makeStream(of: Void.self)
        let line = try await Line(cloud, "mia", apiToken: apiToken, device: "phone") { SilentCourier(base: $0, poll: poll) }
        let phone = try device("phone", line)
        try await sync(tablet, phone)
        // The import after the connection to the courier is not a poll.
        for await _ in polls { break }
        try await sync(phone)
        try tablet.edit { $0.insert("Post", ["title": "News"]) }
        try await sync(tablet)
        while try phone.read({ try $0.post(titled: "News") == nil }) {
            try Task.checkCancellation()
            phone.timers.advance(by: 1800)
            await Task.yield()
        }
    }

    @Test func thePublicDatabaseIsReadByQueriesAndWithoutAUser() async throws {
        let (cloud, apiToken) = try await cloud()
        let publish: (NSPersistentStoreDescription) -> Void = { $0.cloudKitContainerOptions?.databaseScope = .public }
        let mia = try device("mia's", try await Line(cloud, "mia", apiToken: apiToken, device: "tablet"), describe: publish)
        try mia.edit { context in for number in 0..<250 { context.insert("Post", ["title": "\(number)"]) } }
        try await sync(mia)
        // Until indexes have caught up, queries miss some records; no later query misses them again.
        cloud.clock.advance(by: .milliseconds(900))
        let line = try await Line(cloud, "bo", apiToken: apiToken, device: "phone")
        try line.tokens.signOut()
        let bo = try device("bo's", line, describe: publish)
        try await sync(bo)
        #expect(try bo.read { try $0.all("Post").count } < 250)
        cloud.clock.advance(by: .seconds(2))
        try await sync(bo)
        #expect(try bo.dump == mia.dump)
    }

    @Test func anExpiredTokenAsksForASignInAndNothingIsLost() async throws {
        let (cloud, apiToken) = try await cloud()
        let line = try await Line(cloud, "mia", apiToken: apiToken, device: "tablet")
        let tablet = try device("tablet", line)
        try tablet.edit { $0.insert("Post", ["title": "Before"]) }
        try await sync(tablet)
        cloud.clock.advance(by: .seconds(31 * 60))
        try tablet.edit { $0.insert("Post", ["title": "While signed out"]) }
        let error = await #expect(throws: CKError.self) { try await sync(tablet) }
        #expect(error?.code == .notAuthenticated)
        #expect(tablet.container.syncStatus.pendingCount == 1)
        #expect(line.tokens.session == nil)

        try await line.signIn()
        NotificationCenter.default.post(name: .CKAccountChanged, object: nil)
        try await tablet.settles()
        let phone = try device("phone", try await Line(cloud, "mia", apiToken: apiToken, device: "phone"))
        try await sync(phone)
        #expect(try phone.dump == tablet.dump)
        #expect(try phone.dump.contains("While signed out"))
    }

    /// A lost response uses its token up by the documents. The request may have been executed, and has no idempotency key.
    @Test(arguments: ["records/modify", "changes/zone", "zones/modify"]) func aLostResponseCreatesNoDuplicates(_ operation: String)
        async throws
    {
        let (cloud, apiToken) = try await cloud()
        let losing = Losing()
        let line = try await Line(cloud, "mia", apiToken: apiToken, device: "tablet") { losing.over($0) }
        losing.loseNext(operation)
        let tablet = try device("tablet", line)
        try tablet.edit { context in for number in 0..<3 { context.insert("Post", ["title": "\(number)"]) } }
        // Longer delays are those of a signed-out push stream, which would be retried without a pause.
        tablet.timers.runFreely(upTo: 15)
        try await tablet.until { _ in losing.isSpent && line.tokens.session == nil }
        try await line.signIn()
        NotificationCenter.default.post(name: .CKAccountChanged, object: nil)
        try await tablet.settles()
        let databases = try await cloud.databases(of: Device.containerIdentifier)
        let posts = databases.flatMap(\.zones).flatMap(\.records).filter { $0.recordType == "CD_Post" }
        #expect(posts.count == 3)
        #expect(try tablet.read { try $0.all("Post").count } == 3)
    }

    /// Values that this device encrypts could not be read by an app on an Apple device.
    @Test func encryptedAttributesAreNotSent() async throws {
        let (cloud, apiToken) = try await cloud()
        let line = try await Line(cloud, "mia", apiToken: apiToken, device: "tablet")
        let keys = EncryptedPosts.keyFile()
        let tablet = try device("tablet", line, model: EncryptedPosts.model) {
            $0.cloudKitContainerOptions?.encryptionKeys = .file(keys)
        }
        try tablet.edit { $0.insert("Post", ["title": "Secret"]) }
        let error = await #expect(throws: CKError.self) { try await sync(tablet) }
        #expect(error?.code == .incompatibleVersion)
        #expect(!line.base.log.contains("records/modify"))
    }

    private static let ordered = Model(entities: [
        Entity(
            name: "List", attributes: [Attribute(name: "name", type: .string)],
            relationships: [Relationship(name: "songs", destination: "Song", inverse: "list", isToMany: true, isOrdered: true)]),
        Entity(
            name: "Song", attributes: [Attribute(name: "name", type: .string)],
            relationships: [Relationship(name: "list", destination: "List", inverse: "songs")]),
    ])

    /// The service has no capability of Tarn's.
    @Test func modelExtensionsAreNotSent() async throws {
        let (cloud, apiToken) = try await cloud()
        let line = try await Line(cloud, "mia", apiToken: apiToken, device: "tablet")
        let tablet = try device("tablet", line, model: Self.ordered) {
            $0.cloudKitContainerOptions?.modelExtensions = .orderedRelationships
        }
        try tablet.edit { $0.insert("List", ["name": "Mix"]) }
        let error = await #expect(throws: CKError.self) { try await sync(tablet) }
        #expect(error?.code == .incompatibleVersion)
        #expect(!line.base.log.contains("records/modify"))
    }
}

/// A web courier without notifications: each wait for one lasts until it is cancelled.
private struct SilentCourier: CloudTransport {
    let base: InProcessTransport
    /// Receives each wait.
    let poll: AsyncStream<Void>.Continuation
    var needsIdleTimeout: Bool { base.needsIdleTimeout }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard case .asset = request.target, request.method == "GET" else { return try await base.send(request) }
        poll.yield()
        let (end, continuation) = AsyncStream.makeStream(of: Void.self)
        for await _ in end {}
        continuation.finish()
        throw CancellationError()
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream { try await base.stream(request) }
}

/// Loses the response of the next request of an operation.
private final class Losing: Sendable {
    private let operation = Mutex<String?>(nil)

    func loseNext(_ operation: String) { self.operation.withLock { $0 = operation } }

    var isSpent: Bool { operation.withLock { $0 == nil } }

    func over(_ base: InProcessTransport) -> any CloudTransport { Transport(base: base, losing: self) }

    private func loses(_ path: String) -> Bool {
        operation.withLock { operation in
            guard let lost = operation, path.contains(lost) else { return false }
            operation = nil
            return true
        }
    }

    private struct Transport: CloudTransport {
        let base: InProcessTransport
        let losing: Losing
        var needsIdleTimeout: Bool { base.needsIdleTimeout }

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            let response = try await base.send(request)
            if case .service(let path) = request.target, losing.loses(path) {
                throw CKError(request.changesData ? .serverResponseLost : .networkFailure, "the response was lost")
            }
            return response
        }

        func stream(_ request: TransportRequest) async throws -> TransportStream { try await base.stream(request) }
    }
}
