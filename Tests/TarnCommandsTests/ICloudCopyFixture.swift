// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudService
import CloudWire
import Foundation
import Synchronization
import Testing

@testable import TarnCommands

/// Both servers with one user, and the ends of a copy.
struct ICloudCopyFixture {
    static let container = "iCloud.org.example.notes"
    static let garden = ZoneID(zoneName: "Garden")

    let apple: InProcessCloud
    let tarn: InProcessCloud
    let iCloudEnd: CloudEnd
    let tarnEnd: CloudEnd
    let wire: ICloudWire
    let folder = ScratchFolder("tarn-icloud")

    init(_ scope: DatabaseScope = .private) async throws {
        apple = try InProcessCloud(profile: .apple)
        tarn = try InProcessCloud(seed: 2)
        _ = try await apple.addUser("mia", device: "tablet")
        let apiToken = try await apple.addAPIToken(container: Self.container)
        let tokens = try WebAuthTokenStore(URL(fileURLWithPath: folder.path).appendingPathComponent("session"))
        try tokens.signIn(try await apple.webAuthToken(of: "mia", container: Self.container))
        wire = ICloudWire(apple.addVisitor(device: "copy"))
        let patience = Patience(sleep: { _ in })
        iCloudEnd = CloudEnd(
            name: "iCloud",
            client: CloudDatabaseClient(
                containerIdentifier: Self.container, environment: .development, scope: scope,
                transport: WebServicesTransport(wire, apiToken: .init(apiToken), tokens: tokens), dialect: .webServices),
            patience: patience)
        tarnEnd = CloudEnd(
            name: "The Tarn server",
            client: CloudDatabaseClient(
                containerIdentifier: Self.container, environment: .development, scope: scope,
                transport: try await tarn.addUser("mia", device: "copy")), patience: patience)
    }

    var file: CopyStateFile { CopyStateFile(path: folder.path + "/state.json") }

    let copy = CopyState.Copy(
        command: "pull", container: ICloudCopyFixture.container, environment: "development", database: "private", iCloud: "a", tarn: "t")

    func copier(isPull: Bool = true) throws -> RecordCopier {
        let state = try file.read(copy)
        return isPull
            ? RecordCopier(from: iCloudEnd, to: tarnEnd, file: file, state: state)
            : RecordCopier(from: tarnEnd, to: iCloudEnd, file: file, state: state)
    }

    static let parts = [CopyPart(zone: "Garden", recordType: nil)]

    func save(_ records: [Record], at end: CloudEnd) async throws {
        try await end.create(zones: ["Garden"])
        #expect(try await end.modify(records.map { RecordOperation(.forceReplace, $0) }, inZone: "Garden").isEmpty)
    }

    func delete(_ name: String, at end: CloudEnd) async throws {
        _ = try await end.modify([RecordOperation(.forceDelete, Record(recordName: name))], inZone: "Garden")
    }

    /// Differences as lines: `p1 onlyInICloud`.
    func differences(_ parts: [CopyPart] = ICloudCopyFixture.parts) async throws -> [String] {
        let lines = Mutex<[String]>([])
        var comparer = RecordComparer(iCloud: iCloudEnd, tarn: tarnEnd) { _, name, _, difference in
            var fields = ""
            if case .fields(let names) = difference { fields = " " + names.joined(separator: ",") }
            lines.withLock { $0.append("\(name) \(difference.kind)\(fields)") }
        }
        try await comparer.compare(parts)
        return lines.withLock { $0.sorted() }
    }

    func asset(_ byte: UInt8, of name: String, at end: CloudEnd) async throws -> FieldValue {
        try await end.create(zones: ["Garden"])
        return .asset(
            try await end.client.uploadAsset(
                .bytes(Array(repeating: byte, count: 5000)), recordType: "Plant", recordName: name, fieldName: "photo",
                zoneID: Self.garden))
    }
}

/// A transport that fails or refuses requests, rewrites responses, and loses assets.
final class ICloudWire: CloudTransport {
    private struct Refusal {
        var error: WireError
        /// The last two components of the path; nil for all.
        var operation: String?
        /// A member that the body has; nil for all bodies.
        var member: String?
        var count: Int
    }

    private let base: InProcessTransport
    private let rest = Mutex<Int?>(nil)
    private let refusal = Mutex<Refusal?>(nil)
    private let rewriting = Mutex<(@Sendable (String, [UInt8]) throws -> [UInt8])?>(nil)
    private let lostDownloads = Mutex(0)
    let paths = Mutex<[String]>([])
    var needsIdleTimeout: Bool { base.needsIdleTimeout }

    init(_ base: InProcessTransport) { self.base = base }

    /// Fails all requests after so many.
    func fail(after count: Int?) { rest.withLock { $0 = count } }

    /// Refuses the next requests of an operation, with a member in the body, as a whole.
    func refuseNext(_ count: Int, with error: WireError, of operation: String? = nil, having member: String? = nil) {
        refusal.withLock { $0 = Refusal(error: error, operation: operation, member: member, count: count) }
    }

    /// Rewrites the bodies of responses, by their operations.
    func rewrite(_ body: (@Sendable (_ operation: String, _ body: [UInt8]) throws -> [UInt8])?) { rewriting.withLock { $0 = body } }

    /// Responds to the next downloads with the status of an expired address.
    func loseNextDownloads(_ count: Int) { lostDownloads.withLock { $0 = count } }

    private func refuses(_ operation: String, _ body: TransportRequest.Body) -> WireError? {
        refusal.withLock { refusal in
            guard let next = refusal, next.count > 0, next.operation == nil || next.operation == operation else { return nil }
            if let member = next.member {
                guard case .bytes(let bytes) = body, String(decoding: bytes, as: UTF8.self).contains("\"\(member)\"") else {
                    return nil
                }
            }
            refusal?.count -= 1
            return next.error
        }
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        if case .service(let path) = request.target {
            let operation = path.prefix { $0 != "?" }.split(separator: "/").suffix(2).joined(separator: "/")
            paths.withLock { $0.append(operation) }
            try rest.withLock { rest in
                guard let count = rest else { return }
                if count == 0 { throw CKError(.badContainer, "the process was killed") }
                rest = count - 1
            }
            if let error = refuses(operation, request.body) {
                return TransportResponse(status: error.code.httpStatus, body: error.encoded())
            }
            var response = try await base.send(request)
            if let rewrite = rewriting.withLock({ $0 }) { response.body = try rewrite(operation, response.body) }
            return response
        }
        return try await base.send(request)
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream {
        let isLost = lostDownloads.withLock { count -> Bool in
            guard count > 0 else { return false }
            count -= 1
            return true
        }
        guard isLost else { return try await base.stream(request) }
        return TransportStream(status: 410, chunks: AsyncThrowingStream<[UInt8], any Error> { $0.finish() })
    }
}
