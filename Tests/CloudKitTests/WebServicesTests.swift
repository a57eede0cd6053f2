// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudService
import CloudWire
import Foundation
import Synchronization
import SystemSupport
import Testing

/// The client of iCloud, on a server with only what Apple documents.
@Suite struct WebServicesTests {
    private static let container = "iCloud.org.example.notes"

    /// A signed-in user of a strict server.
    private struct Fixture {
        let cloud: InProcessCloud
        let folder = ScratchFolder("tarn-session")
        let apiToken: CKContainer.Configuration.Token
        let base: InProcessTransport

        var file: URL { URL(fileURLWithPath: folder.path).appendingPathComponent("session.json") }

        init() async throws {
            cloud = try InProcessCloud(profile: .apple)
            _ = try await cloud.addUser("mia", device: "tablet")
            apiToken = .init(try await cloud.addAPIToken(container: WebServicesTests.container))
            base = cloud.addVisitor(device: "program")
        }

        func token() async throws -> String { try await cloud.webAuthToken(of: "mia", container: WebServicesTests.container) }

        func signedIn(_ disk: DurableFile.Disk = .real) async throws -> WebServicesTransport {
            let tokens = try WebAuthTokenStore(file, disk: disk)
            try tokens.signIn(try await token())
            return transport(tokens)
        }

        func transport(_ tokens: WebAuthTokenStore, over other: (any CloudTransport)? = nil) -> WebServicesTransport {
            WebServicesTransport(other ?? base, apiToken: apiToken, tokens: tokens)
        }

        func client(_ transport: any CloudTransport, _ scope: DatabaseScope = .private) -> CloudDatabaseClient {
            CloudDatabaseClient(
                containerIdentifier: WebServicesTests.container, environment: .development, scope: scope, transport: transport,
                dialect: .webServices)
        }
    }

    @Test func concurrentRequestsUseOneTokenAfterAnother() async throws {
        let fixture = try await Fixture()
        let client = fixture.client(try await fixture.signedIn())
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 { group.addTask { try await client.listZones().zones.count } }
            for try await count in group { #expect(count == 1) }
        }
    }

    @Test func theNextTokenIsInTheFileBeforeTheNextRequest() async throws {
        let fixture = try await Fixture()
        do {
            let transport = try await fixture.signedIn()
            let first = try #require(transport.tokens.session)
            _ = try await fixture.client(transport).listZones()
            #expect(transport.tokens.session?.token != first.token)
            #expect(transport.credential != nil)
            #expect(transport.tokens.session?.id == first.id)
            #expect(FileStamp(path: fixture.file.path)?.isOpenToOthers == false)
            // One process at a time: another would use tokens up.
            let refusal = await failure { try WebAuthTokenStore(fixture.file) }
            #expect(refusal?.code == .badContainer)
        }
        // Another process continues where this one ended.
        let transport = fixture.transport(try WebAuthTokenStore(fixture.file))
        _ = try await fixture.client(transport).listZones()
    }

    /// Fails with a full disk while it is told to.
    private final class FullDisk: Sendable {
        let isFull = Mutex(false)

        var disk: DurableFile.Disk {
            DurableFile.Disk { descriptor in
                guard self.isFull.withLock({ $0 }) else { return fsync(descriptor) }
                errno = ENOSPC
                return -1
            }
        }
    }

    @Test func nothingIsSentWhileTheNextTokenIsNotDurable() async throws {
        let fixture = try await Fixture()
        let disk = FullDisk()
        let transport = try await fixture.signedIn(disk.disk)
        let client = fixture.client(transport)
        disk.isFull.withLock { $0 = true }
        // The response counts: its request was executed.
        _ = try await client.listZones()
        let count = fixture.base.log.count
        let error = await failure { try await client.listZones() }
        #expect(error?.code == .internalError)
        #expect(fixture.base.log.count == count)
        disk.isFull.withLock { $0 = false }
        _ = try await client.listZones()
    }

    /// Delays a request until the test lets it through.
    private final class Slow: CloudTransport {
        let base: InProcessTransport
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        let (starts, start) = AsyncStream.makeStream(of: Void.self)

        init(_ base: InProcessTransport) { self.base = base }

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            arrived.yield()
            for await _ in starts { break }
            return try await base.send(request)
        }

        func stream(_ request: TransportRequest) async throws -> TransportStream { try await base.stream(request) }
    }

    @Test func aCancelledRequestKeepsItsNextToken() async throws {
        let fixture = try await Fixture()
        let tokens = try WebAuthTokenStore(fixture.file)
        try tokens.signIn(try await fixture.token())
        let slow = Slow(fixture.base)
        let client = fixture.client(fixture.transport(tokens, over: slow))
        let first = tokens.session
        let request = Task { try await client.listZones() }
        for await _ in slow.arrivals { break }
        request.cancel()
        slow.start.yield()
        _ = await request.result
        #expect(tokens.session != first)
        slow.start.finish()
        _ = try await client.listZones()
    }

    @Test func aWaitingRequestIsCancelledWithoutATurn() async throws {
        let fixture = try await Fixture()
        let tokens = try WebAuthTokenStore(fixture.file)
        try tokens.signIn(try await fixture.token())
        let slow = Slow(fixture.base)
        let client = fixture.client(fixture.transport(tokens, over: slow))
        let first = Task { try await client.listZones() }
        for await _ in slow.arrivals { break }
        let second = Task { try await client.listZones() }
        second.cancel()
        let error = await failure { try await second.value }
        #expect(error?.code == .operationCancelled)
        slow.start.finish()
        _ = try await first.value
        _ = try await client.listZones()
    }

    @Test func aRequestOfACancelledTaskIsNotSent() async throws {
        let fixture = try await Fixture()
        let client = fixture.client(try await fixture.signedIn())
        let request = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await failure { try await client.listZones() }?.code
        }
        #expect(await request.value == .operationCancelled)
        #expect(fixture.base.log.isEmpty)
    }

    /// The next owner of the file has the token of the last response.
    @Test func aClosedFileHasTheTokenOfTheRequestInFlight() async throws {
        let fixture = try await Fixture()
        let tokens = try WebAuthTokenStore(fixture.file)
        try tokens.signIn(try await fixture.token())
        let first = tokens.session
        let slow = Slow(fixture.base)
        let client = fixture.client(fixture.transport(tokens, over: slow))
        let request = Task { try await client.listZones() }
        for await _ in slow.arrivals { break }
        let closing = Task { await tokens.close() }
        slow.start.finish()
        _ = try await request.value
        await closing.value
        let error = await failure { try await client.listZones() }
        #expect(error?.code == .operationCancelled)
        let signIn = await failure { try tokens.signIn("1__2__abc") }
        #expect(signIn?.code == .operationCancelled)
        let next = try WebAuthTokenStore(fixture.file)
        #expect(next.session?.id == first?.id)
        #expect(next.session?.token != first?.token)
        _ = try await fixture.client(fixture.transport(next)).listZones()
    }

    /// A proxy has the status 421 for connections to another host, and the status 401 may be about the API token.
    @Test(arguments: [
        (421, "<html>Misdirected Request</html>", true),
        (401, #"{"serverErrorCode":"AUTHENTICATION_FAILED","reason":"no API token"}"#, true),
        (421, #"{"serverErrorCode":"AUTHENTICATION_FAILED","reason":"text"}"#, false),
        (421, #"{"serverErrorCode":"AUTHENTICATION_REQUIRED","reason":"text"}"#, false),
    ])
    func onlyTheServicesErrorEndsASession(_ status: Int, _ body: String, _ isSignedIn: Bool) async throws {
        let fixture = try await Fixture()
        let tokens = try WebAuthTokenStore(fixture.file)
        try tokens.signIn("1__2__abc")
        let recording = RecordingTransport(.response(TransportResponse(status: status, body: Array(body.utf8))))
        _ = await failure { try await fixture.client(fixture.transport(tokens, over: recording)).listZones() }
        #expect((tokens.session != nil) == isSignedIn)
    }

    /// Public data need no user, and the address of the sign-in page is the server's.
    @Test func anExpiredTokenSignsOut() async throws {
        let fixture = try await Fixture()
        let transport = try await fixture.signedIn()
        fixture.cloud.clock.advance(by: .seconds(31 * 60))
        let error = await failure { try await fixture.client(transport).listZones() }
        #expect(error?.code == .notAuthenticated)
        #expect(transport.tokens.session == nil)
        #expect(transport.credential == nil)
        #expect(try await fixture.client(transport, .public).listZones().zones.count == 1)
        let request = TransportRequest(
            method: "GET", target: .service(path: "/database/1/\(Self.container)/development/public/users/caller"), responseBytesMax: 9999)
        let response = try await transport.sendAnonymously(request)
        #expect(response.status == 421)

        try transport.tokens.signIn(try await fixture.token())
        _ = try await fixture.client(transport).listZones()
    }

    @Test func aLostResponseAsksForASignInAndLosesNothing() async throws {
        let fixture = try await Fixture()
        let transport = try await fixture.signedIn()
        let client = fixture.client(transport)
        fixture.base.loseNextAnswers()
        let lost = await failure { try await client.listZones() }
        #expect(lost?.code == .networkFailure)
        // The documents say that the token is used up. Reports say that the service in use accepts it, so it is tried.
        let error = await failure { try await client.listZones() }
        #expect(error?.code == .notAuthenticated)
        #expect(transport.tokens.session == nil)
    }

    @Test func requestsHaveDocumentedHeadersAndMembersOnly() async throws {
        let fixture = try await Fixture()
        let recording = RecordingTransport(.ok(#"{"records":[]}"#), .ok(#"{"zones":[]}"#), .ok(#"{"zones":[]}"#))
        let tokens = try WebAuthTokenStore(fixture.file)
        try tokens.signIn("1__2__a+b/c=")
        var client = fixture.client(fixture.transport(tokens, over: recording))
        client.deviceID = "tablet"
        var modify = ModifyRecordsRequest(operations: [])
        (modify.clientChangeToken, modify.historyToken, modify.saveGroup) = ([1], "t", SaveGroup(id: "g", part: 0, parts: 1))
        _ = try await client.modifyRecords(modify, idempotencyKey: "k")
        var query = ZoneChangesQuery(zoneID: .defaultZone, syncToken: "t")
        query.savedSyncToken = "u"
        _ = try await client.zoneChanges(ZoneChangesRequest(zones: [query]), asking: [.lostHistory])
        _ = try await client.lookupZones(ZonesLookupRequest(zones: []))
        for request in recording.requests {
            #expect(request.headers.all.allSatisfy { !$0.name.hasPrefix("X-Tarn") }, "\(request.headers.all.map(\.name))")
            guard case .service(let path) = request.target, case .bytes(let body) = request.body else { continue }
            #expect(path.contains("ckWebAuthToken=1__2__a%2Bb%2Fc%3D"))
            for name in ["saveGroup", "historyToken", "clientChangeToken", "savedSyncToken"] { #expect(!text(body).contains(name)) }
            #expect(!String(describing: request).contains("ckWebAuthToken"))
        }
        #expect(client.limits.operationsPerRequest == 200)
        #expect(try await client.publicChanges(query) == nil)
    }

    @Test func pagesHaveTheDocumentedNumberOfRecords() async throws {
        let fixture = try await Fixture()
        let recording = RecordingTransport(.ok(#"{"zones":[]}"#), .ok(#"{"records":[]}"#))
        let client = fixture.client(recording)
        let zone = ZoneChangesQuery(zoneID: ZoneID(zoneName: "Garden"), resultsLimit: 1000)
        _ = try await client.zoneChanges(ZoneChangesRequest(zones: [zone], resultsLimit: 500))
        _ = try await client.queryRecords(QueryRecordsRequest(query: Query(recordType: "Plant"), resultsLimit: 1000))
        let feed = try recording.body(0, as: ZoneChangesRequest.self)
        #expect(feed.resultsLimit == 200)
        #expect(feed.zones.map(\.resultsLimit) == [200])
        #expect(try recording.body(1, as: QueryRecordsRequest.self).resultsLimit == 200)
    }

    @Test func assetsHaveTheDocumentedSize() async throws {
        let fixture = try await Fixture()
        let recording = RecordingTransport()
        let error = await failure {
            try await fixture.client(recording).uploadAsset(
                .bytes([UInt8](repeating: 0, count: 15_000_001)), recordType: "Plant", recordName: "p", fieldName: "photo")
        }
        #expect(error?.code == .limitExceeded)
        #expect(recording.requests.isEmpty)
    }

    /// No documented code says that a sync token has expired.
    @Test func aRejectedTokenCountsAsExpired() async throws {
        let fixture = try await Fixture()
        let client = fixture.client(try await fixture.signedIn())
        let zone = ZoneID(zoneName: "Garden")
        _ = try await client.modifyZones(ZonesModifyRequest(operations: [.create(zone)]))
        func code(_ token: String?) async throws -> AppErrorCode? {
            let response = try await client.zoneChanges(ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: zone, syncToken: token)]))
            if case .failure(_, let error) = response.zones[0] { return error.nativeCode }
            return nil
        }
        #expect(try await code("00") == .changeTokenExpired)
        #expect(try await code(nil) == nil)
        let error = await failure { try await client.databaseChanges(DatabaseChangesRequest(syncToken: "00")) }
        #expect(error?.code == .changeTokenExpired)
    }

    @Test(arguments: [
        ("https://app.example.org/done?ckWebAuthToken=1__2__a%2Bb%3D", "1__2__a+b="),
        ("https://app.example.org/done?x=1&ckSession=abc", "abc"), ("https://app.example.org/#ckWebAuthToken=a+b", "a+b"),
        // A page may have decoded a plus as a space.
        ("https://app.example.org/done?ckWebAuthToken=a%20b", "a+b"),
        ("https://app.example.org/done?ckWebAuthToken=", nil), ("https://app.example.org/done", nil),
    ])
    func theCallbackHasTheToken(_ address: String, _ token: String?) throws {
        #expect(CKContainer.webAuthToken(inCallback: try #require(URL(string: address))) == token)
    }

    @Test func theConfigurationIsChecked() async throws {
        let folder = ScratchFolder("tarn-session")
        let file = URL(fileURLWithPath: folder.path).appendingPathComponent("session.json")
        func code(_ apiToken: String, _ server: String) async -> CKError.Code? {
            let identifier = "iCloud.test.\(UUID().uuidString)"
            CKContainer.configure(.iCloud(apiToken: .init(apiToken), sessionFile: file, server: server), for: identifier)
            return await failure { try CKContainer(identifier: identifier).isSignedIn }?.code
        }
        #expect(await code("", "https://api.apple-cloudkit.com") == .badContainer)
        #expect(await code("abc", "http://cloud.example.org") == .badContainer)
        let identifier = "iCloud.test.\(UUID().uuidString)"
        CKContainer.configure(.iCloud(apiToken: "abc", sessionFile: file), for: identifier)
        let container = CKContainer(identifier: identifier)
        #expect(try !container.isSignedIn)
        try container.signIn(webAuthToken: "1__2__abc")
        #expect(try container.isSignedIn)
        #expect(throws: CKError.self) { try container.signIn(webAuthToken: "two words") }
        try container.signOut()
        #expect(try !container.isSignedIn)
    }
}
