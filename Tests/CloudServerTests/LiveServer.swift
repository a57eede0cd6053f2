// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudEngine
import CloudServer
import CloudService
import CloudStorageSupport
import CloudWire
import Foundation
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import NIOHTTP1
import StorageFixtures
import Synchronization
import TestBasics

/// Everything that was logged, as text.
final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    var logger: Logger {
        Logger(label: "test") { _ in Handler(lines: self) }
    }

    private struct Handler: LogHandler {
        let lines: LogLines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let text = "\(event.level) \(event.message) \(event.metadata ?? [:])"
            lines.lines.withLock { $0.append(text) }
        }
    }
}

struct Answer: Sendable {
    var status: Int
    var headers: HTTPHeaders
    var body: [UInt8]

    var error: WireError? { try? WireError(json: body) }
    var text: String { String(decoding: body, as: UTF8.self) }
}

/// Holds the service once it is there.
final class ServiceBox: Sendable {
    private let held = Mutex<CloudService?>(nil)

    var service: CloudService? { held.withLock { $0 } }

    func put(_ service: CloudService) { held.withLock { $0 = service } }
}

/// A real server on a real port, with a clock of its own.
struct LiveServer: Sendable {
    static let container = "iCloud.org.example.notes"
    static let database = "/database/1/\(container)/development/private"
    static let garden = ZoneID(zoneName: "Garden")

    let place: ServerPlace
    let store: any OperatedStorage
    let hub = PushHub()
    let clock = HandClock()
    let log = LogLines()
    private(set) var port = 0
    private let box = ServiceBox()

    /// The service behind the socket.
    var service: CloudService {
        guard let service = box.service else { preconditionFailure("the server has not started") }
        return service
    }

    var folder: TemporaryFolder { place.folder }

    /// The bytes of the database: of SQLite with its log and with free pages.
    func storedBytes() throws -> [UInt8] { [UInt8](try place.storedBytes()) }

    private init(place: ServerPlace) throws {
        self.place = place
        store = try place.open()
    }

    static func run(
        limits: Limits = Limits(), place: ServerPlace? = nil, access: OperationsAccess = OperationsAccess(),
        proxies: TrustedProxies = TrustedProxies(), publicAddress: PublicAddress? = nil, pages: (any PageResponder)? = nil,
        hasSnapshots: Bool = false, _ body: @Sendable (LiveServer) async throws -> Void
    ) async throws {
        let parts = try LiveServer(place: try place ?? ServerPlace())
        let surroundings = CloudService.Surroundings(
            now: { [clock = parts.clock] in clock.now }, randomBytes: CloudService.Surroundings.system.randomBytes)
        let service = CloudService(
            engine: Engine(limits: limits, sealer: parts.store.sealer), storage: parts.store, accounts: parts.store,
            assets: parts.store, push: parts.hub, surroundings: surroundings,
            snapshots: hasSnapshots ? try SnapshotFolder(data: parts.folder.path) : nil)
        parts.box.put(service)
        let application = try CloudServer.application(
            service: service, pages: pages, host: "127.0.0.1", port: 0, access: access, proxies: proxies, publicAddress: publicAddress,
            logger: parts.log.logger)
        try await application.test(.live) { client in
            var server = parts
            server.port = client.port ?? 0
            defer { server.hub.close() }
            try await body(server)
        }
        try parts.store.close()
    }

    func addUser(_ name: String) async throws -> String {
        try await store.addUser(name: name, deviceLabel: "tablet", now: clock.now)
    }

    /// A token for another device of a user.
    func addDevice(of name: String) async throws -> String {
        try await store.addToken(userName: name, deviceLabel: "phone", now: clock.now)
    }

    func removeExpired(afterSeconds seconds: Int64 = 0) async throws {
        try await store.removeExpired(now: clock.now + seconds * 1000)
    }

    // MARK: Requests

    func request(_ method: String, _ path: String, token: String?, headers: [(String, String)] = []) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: path.hasPrefix("http") ? path : "http://127.0.0.1:\(port)\(path)")
        request.method = HTTPMethod(rawValue: method)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let token { request.headers.add(name: HeaderNames.authorization, value: HeaderNames.bearer(token)) }
        return request
    }

    func send(
        _ method: String, _ path: String, token: String?, body: [UInt8] = [], headers: [(String, String)] = []
    ) async throws -> Answer {
        var request = request(method, path, token: token, headers: headers)
        if !body.isEmpty { request.body = .bytes(ByteBuffer(bytes: body)) }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(120))
        let bytes = try await response.body.collect(upTo: 100_000_000)
        return Answer(
            status: Int(response.status.code), headers: response.headers, body: Array(bytes.readableBytesView))
    }

    func post(
        _ operation: ServicePath.Operation, _ message: some WireMessage, token: String?, key: String? = nil
    ) async throws -> Answer {
        try await send(
            "POST", "\(Self.database)/\(operation.rawValue)", token: token, body: message.encoded(),
            headers: key.map { [(HeaderNames.idempotencyKey, $0)] } ?? [])
    }

    func makeGarden(token: String) async throws {
        _ = try await post(.modifyZones, ZonesModifyRequest(operations: [.create(Self.garden)]), token: token)
    }

    func modify(_ operations: RecordOperation..., token: String, key: String? = nil) async throws -> Answer {
        try await post(
            .modifyRecords, ModifyRecordsRequest(operations: operations, zoneID: Self.garden), token: token, key: key)
    }

    func zoneChanges(token: String, since syncToken: String? = nil) async throws -> ZoneChangesResponse {
        let query = ZoneChangesQuery(zoneID: Self.garden, syncToken: syncToken)
        return try ZoneChangesResponse(
            json: try await post(.zoneChanges, ZoneChangesRequest(zones: [query]), token: token).body)
    }
}
