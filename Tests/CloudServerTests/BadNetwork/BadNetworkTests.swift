// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import Logging
import TestBasics
import Testing

@testable import CloudServer
@testable import TarnCommands

private let page = "<html><body>Please sign in to this network</body></html>"

private func answer(_ status: String, _ headers: String = "", _ body: String = page) -> NetworkFault {
    .answer(
        "HTTP/1.1 \(status)\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\(headers)\r\n\(body)")
}

/// The framework over real sockets, on a bad network.
@Suite struct BadNetworkTests {
    /// A device that reaches the server through a relay.
    struct Device: Sendable {
        let server: LiveServer
        let relay: FaultyRelay
        private(set) var container: CKContainer
        private let makeContainer: @Sendable (Duration) -> CKContainer
        var database: CKDatabase { container.privateCloudDatabase }
        let zone = CKRecordZone(zoneName: "Garden")

        init(_ server: LiveServer, user: String = "mia") async throws {
            self.server = server
            relay = try FaultyRelay(to: server.port)
            let token = try await server.addUser(user)
            let address = try #require(ServerAddress(relay.address))
            makeContainer = { wait in
                var timeouts = HTTPTransport.Timeouts()
                timeouts.request = wait
                let transport = HTTPTransport(server: address, token: CKContainer.Configuration.Token(token), timeouts: timeouts)
                return CKContainer(
                    identifier: LiveServer.container,
                    connection: OwnConnection(Connection(environment: .development, transport: transport)))
            }
            container = makeContainer(.seconds(30))
        }

        /// The same device, to which no server has said anything yet.
        func fresh(waiting wait: Duration = .seconds(30)) -> Device {
            var device = self
            device.container = makeContainer(wait)
            return device
        }

        func plant(_ name: String) -> CKRecord {
            let record = CKRecord(recordType: "Plant", recordID: CKRecord.ID(recordName: name, zoneID: zone.zoneID))
            record["count"] = 1
            return record
        }
    }

    /// The operations of an app, each on a connection that was good so far. Each can be repeated.
    static let operations: [(name: String, body: @Sendable (Device) async throws -> Void)] = [
        ("account status", { _ = try await $0.container.accountStatus() }),
        ("user record ID", { _ = try await $0.container.userRecordID() }),
        (
            "save",
            { device in
                let result = try await device.database.modifyRecords(
                    saving: [device.plant("saved")], deleting: [], savePolicy: .changedKeys
                ).saveResults
                _ = try result.values.first?.get()
            }
        ),
        ("delete", { _ = try await $0.database.deleteRecord(withID: $0.plant("gone").recordID) }),
        ("fetch", { _ = try await $0.database.record(for: $0.plant("sage").recordID) }),
        (
            "query",
            { device in
                let query = CKQuery(recordType: "Plant", predicate: NSPredicate(format: "count >= 1"))
                _ = try await device.database.records(matching: query, inZoneWith: device.zone.zoneID)
            }
        ),
        ("database changes", { _ = try await $0.database.databaseChanges(since: nil) }),
        ("zone changes", { _ = try await $0.database.recordZoneChanges(inZoneWith: $0.zone.zoneID, since: nil) }),
        ("zones", { _ = try await $0.database.allRecordZones() }),
        ("save zone", { _ = try await $0.database.save(CKRecordZone(zoneName: "Shed")) }),
        ("subscriptions", { _ = try await $0.database.allSubscriptions() }),
        ("save subscription", { _ = try await $0.database.save(CKDatabaseSubscription(subscriptionID: "all")) }),
        ("people", { _ = try await $0.container.userIdentity(forEmailAddress: "nobody@example.org") }),
        (
            "public query",
            { device in
                let query = CKQuery(recordType: "Plant", predicate: NSPredicate(format: "count == 1"))
                _ = try await device.container.publicCloudDatabase.records(matching: query)
            }
        ),
    ]

    /// A broken connection is retried once, without delay; other faults are errors.
    static let faults: [(fault: NetworkFault, code: CKError.Code?)] = [
        (.cut(after: 0), nil), (.cut(after: 40), nil), (.reset(after: 0), nil), (.cutRequest(after: 10), nil),
        (.cutBody(after: 5), nil), (.stall(after: 0), .networkFailure), (.stall(after: 100), .networkFailure),
        (answer("200 OK"), .networkFailure), (answer("502 Bad Gateway"), .serviceUnavailable),
        (answer("503 Service Unavailable", "Retry-After: 7\r\n"), .serviceUnavailable),
        (answer("429 Too Many Requests", "Retry-After: 7\r\n"), .requestRateLimited),
        (answer("302 Found", "Location: /again\r\n"), .networkFailure),
        (answer("308 Permanent Redirect", "Location: http://evil.example/\r\n"), .networkFailure),
        (
            .answer("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\nConnection: close\r\n\r\n{\"records"),
            .networkFailure
        ),
        (.answer("SSH-2.0-OpenSSH_9.2\r\n"), .networkFailure),
    ]

    @Test(arguments: faults.indices)
    func aNetworkFaultIsRetriedOrReportedAsARetryableError(_ index: Int) async throws {
        let (fault, code) = Self.faults[index]
        try await LiveServer.run { server in
            let device = try await Device(server)
            defer { device.relay.stop() }
            try await Self.plantGarden(device)
            for operation in Self.operations {
                device.relay.fail(fault)
                var failure: CKError?
                // A client that was throttled waits, so each operation has a fresh device.
                var asking = device.fresh()
                if case .stall = fault { asking = device.fresh(waiting: .milliseconds(200)) }
                do {
                    try await operation.body(asking)
                } catch let error as CKError {
                    failure = error
                }
                let place = "\(operation.name) on \(fault.testDescription): \(String(describing: failure))"
                guard let code else {
                    #expect(failure == nil, "\(place)")
                    continue
                }
                // A save with a lost response is in doubt, and so is one that a gateway answered instead of its server.
                let mayBeInDoubt = [.networkFailure, .serviceUnavailable].contains(code)
                let expected: Set<CKError.Code?> = mayBeInDoubt ? [code, .serverResponseLost] : [code]
                #expect(expected.contains(failure?.code), "\(place)")
                #expect(failure?.mayPass == true, "\(place)")
                device.relay.heal()
                if failure?.retryAfterSeconds == nil {
                    try await operation.body(device)
                } else {
                    #expect(failure?.retryAfterSeconds == 7)
                }
            }
        }
    }

    private static func plantGarden(_ device: Device) async throws {
        try await device.database.save(device.zone)
        try await device.database.save(device.plant("sage"))
        let open = CKRecord(recordType: "Plant")
        open["count"] = 1
        try await device.container.publicCloudDatabase.save(open)
    }

    @Test func aSlowConnectionIsNotAnError() async throws {
        try await LiveServer.run { server in
            let device = try await Device(server)
            defer { device.relay.stop() }
            device.relay.fail(.latency(milliseconds: 20))
            try await Self.plantGarden(device)
            for operation in Self.operations { try await operation.body(device) }
        }
    }

    @Test func aRefusedConnectionIsNetworkUnavailable() async throws {
        try await LiveServer.run { server in
            let device = try await Device(server)
            device.relay.stop()
            for operation in Self.operations {
                let error = await #expect(throws: CKError.self) { try await operation.body(device) }
                #expect(error?.code == .networkUnavailable, "\(operation.name): \(String(describing: error))")
            }
        }
    }

    @Test func aServerWithoutTLSIsReportedToAnHTTPSClient() async throws {
        try await LiveServer.run { server in
            let address = try #require(ServerAddress("https://127.0.0.1:\(server.port)"))
            var timeouts = HTTPTransport.Timeouts()
            timeouts.connect = .seconds(120)
            let transport = HTTPTransport(server: address, token: "t", timeouts: timeouts)
            let container = CKContainer(
                identifier: LiveServer.container,
                connection: OwnConnection(Connection(environment: .development, transport: transport)))
            let error = await #expect(throws: CKError.self) { try await container.privateCloudDatabase.allRecordZones() }
            #expect(error?.code == .networkFailure)
            #expect(error?.localizedDescription.hasPrefix("no protected connection to the server") == true)
        }
    }

    @Test func anUntrustedCertificateIsReported() async throws {
        try await LocalServer.withCertificate(in: TemporaryFolder()) { port, _ in
            let address = try #require(ServerAddress("https://localhost:\(port)"))
            let transport = HTTPTransport(server: address, token: "s3cr3t")
            let container = CKContainer(
                identifier: LiveServer.container,
                connection: OwnConnection(Connection(environment: .development, transport: transport)))
            let error = await #expect(throws: CKError.self) { try await container.privateCloudDatabase.allRecordZones() }
            #expect(error?.code == .networkFailure)
            #expect(error?.localizedDescription.contains("its certificate is not trusted") == true)
            // Nothing was sent on a connection that never was.
            let unsaved = await #expect(throws: CKError.self) { try await container.privateCloudDatabase.save(CKRecord(recordType: "T")) }
            #expect(unsaved?.code == .networkFailure)
            #expect(error.map { !"\($0) \($0.userInfo)".contains("s3cr3t") } == true)
        }
    }

    // MARK: Nothing twice, nothing half

    @Test(arguments: [NetworkFault.cut(after: 0), .cut(after: 50), .reset(after: 0), .stall(after: 20), .cutRequest(after: 400)])
    func aRetriedSaveOperationSavesOnce(_ fault: NetworkFault) async throws {
        try await LiveServer.run { server in
            let device = try await Device(server)
            defer { device.relay.stop() }
            try await device.database.save(device.zone)
            let token = try await device.database.recordZoneChanges(inZoneWith: device.zone.zoneID, since: nil).changeToken
            let (a, b) = (device.plant("a"), device.plant("b"))
            let operation = CKModifyRecordsOperation(recordsToSave: [a, b])
            operation.configuration.qualityOfService = .utility
            operation.configuration.timeoutIntervalForRequest = 1
            device.relay.fail(fault)
            if case .stall = fault {
                // A stalled connection stays so until the relay is repaired: the second attempt succeeds.
                Task { [relay = device.relay] in
                    try await until { relay.requests.count >= 4 }
                    relay.heal()
                }
            }
            let result = await withCheckedContinuation { (continuation: CheckedContinuation<Result<Void, any Error>, Never>) in
                operation.modifyRecordsResultBlock = { continuation.resume(returning: $0) }
                device.database.add(operation)
            }
            #expect(throws: Never.self) { try result.get() }
            let changes = try await device.database.recordZoneChanges(inZoneWith: device.zone.zoneID, since: token)
            #expect(changes.modificationResultsByID.count == 2)
            for record in [a, b] {
                let there = try await device.database.record(for: record.recordID)
                #expect(there.recordChangeTag == record.recordChangeTag, "what the app has is what was saved, and only once")
            }
        }
    }

    @Test func anAssetIsTransferredWholeThroughNetworkFaults() async throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let file = URL(fileURLWithPath: folder.path + "/photo")
        let content = Data((0..<900_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) })
        try content.write(to: file)
        try await LiveServer.run { server in
            let device = try await Device(server)
            defer { device.relay.stop() }
            try await device.database.save(device.zone)
            let sage = device.plant("sage")
            sage["photo"] = CKAsset(fileURL: file)
            device.relay.fail(.cutRequest(after: 300_000))
            do {
                try await device.database.save(sage)
            } catch CKError.networkFailure {
                // Nothing of it was saved, and the next attempt goes through.
                #expect(sage.recordChangeTag == nil)
                try await device.database.save(sage)
            }
            #expect(device.relay.requests.contains { $0.hasPrefix("HEAD /asset/") }, "the server was asked where it is")
            for fault in [NetworkFault.cut(after: 200_000), .reset(after: 500_000), .cut(after: 899_000)] {
                device.relay.fail(fault)
                let fetched = try await device.database.record(for: sage.recordID)
                let url = try #require((fetched["photo"] as? CKAsset)?.fileURL)
                #expect(try Data(contentsOf: url) == content, "\(fault)")
            }
            #expect(device.relay.requests.contains { $0.hasPrefix("GET /asset/") })
        }
    }

    @Test func aCorruptedDownloadIsRejectedByItsChecksum() async throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let file = URL(fileURLWithPath: folder.path + "/photo")
        try Data(repeating: 7, count: 100_000).write(to: file)
        try await LiveServer.run { server in
            let device = try await Device(server)
            defer { device.relay.stop() }
            try await device.database.save(device.zone)
            let sage = device.plant("sage")
            sage["photo"] = CKAsset(fileURL: file)
            try await device.database.save(sage)
            let fetched = try await device.container.client(for: .private)
                .lookupRecords(LookupRecordsRequest(recordNames: ["sage"], zoneID: LiveServer.garden))
            guard case .record(let record)? = fetched.results.first, case .asset(let asset)? = record.fields["photo"]?.value else {
                Issue.record("there is no asset")
                return
            }
            device.relay.fail(.flip(bodyByte: 50_000))
            let error = await #expect(throws: CKError.self) { try await device.container.client(for: .private).downloadAsset(asset) }
            #expect(error?.localizedDescription == "the checksum of a downloaded asset differs from its record's; fetch the record again")
            #expect(try await device.container.client(for: .private).downloadAsset(asset) == Array(repeating: 7, count: 100_000))
        }
    }
}
