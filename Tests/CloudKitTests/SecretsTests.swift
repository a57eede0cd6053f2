// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import Testing

/// Logs and crash reports do not contain tokens, keys, and addresses that grant access.
@Suite struct SecretsTests {
    private static func texts(of value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return ["\(value)", String(reflecting: value), dumped]
    }

    private static func check(_ values: [Any]) {
        for value in values {
            for text in texts(of: value) { #expect(!text.contains("s3cr3t"), "\(type(of: value)) prints a secret: \(text)") }
        }
    }

    private static let environment = ["TARN_TOKEN": "s3cr3t", "TARN_SERVER": "http://127.0.0.1:1"]

    @Test func credentialsAreNotPrinted() throws {
        let configuration = CKContainer.Configuration(
            server: "http://127.0.0.1:1", token: "s3cr3t", environment: .production, caCertificate: nil)
        let json = Array(#"{"server":"http://h","token":"s3cr3t","containers":{"iCloud.a":{"token":"s3cr3t-2"}}}"#.utf8)
        let sources = ConfigurationSources(
            code: configuration, environment: Self.environment, files: [.init(path: "/t.json", content: json)])
        let identifier = "iCloud.secrets.\(UUID().uuidString)"
        CKContainer.configure(configuration, for: identifier)
        let container = CKContainer(identifier: identifier)
        let operation = CKFetchWebAuthTokenOperation(apiToken: "s3cr3t")
        Self.check([
            configuration, configuration.token as Any, sources, sources.files, try ConfigurationFile(json: json),
            try ConfigurationResolver.resolve(container: "iCloud.a", sources), container, container.privateCloudDatabase,
            try container.client(for: .private), operation,
            HTTPTransport(server: try #require(ServerAddress("http://127.0.0.1:1")), token: "s3cr3t"),
        ])
        #expect(Self.texts(of: sources).allSatisfy { $0.contains("/t.json") })
    }

    @Test func requestsAndResponsesAreNotPrinted() throws {
        var request = TransportRequest(
            method: "GET", target: .asset(address: "/asset/s3cr3t"), headers: ["Authorization": "s3cr3t"],
            body: .bytes(Array("s3cr3t".utf8)), responseBytesMax: 10)
        Self.check([request, request.target])
        request.target = .service(path: "/database/1")
        #expect(Self.texts(of: request).allSatisfy { $0.contains("/database/1") })
        Self.check([TransportResponse(status: 200, headers: ["X-Next-Token": "s3cr3t"], body: Array("s3cr3t".utf8))])
    }

    @Test func linksAreNotPrinted() {
        var participant = ShareParticipant(participantID: "p", identity: UserIdentity(userRecordName: "_a"), permission: .readOnly)
        participant.oneTimeGUID = "s3cr3t"
        var record = Record(recordName: "share", recordType: ShareDetails.recordType)
        record.sharing.shortGUID = "s3cr3t"
        record.sharing.details = ShareDetails(participants: [participant])
        let zoneID = CKRecordZone.ID(zoneName: "Garden")
        let share = CKShare.restored(record, in: zoneID, scope: .private, linkBase: "https://h.example")
        let metadata = ShareMetadata(
            shortGUID: ShortGUID(value: "s3cr3t"), containerIdentifier: "iCloud.a", environment: .development, scope: .shared,
            zoneID: zoneID.wire, rootRecordName: nil, share: record, owner: UserIdentity(userRecordName: "_b"),
            participantKind: .user, participantPermission: .readOnly, participantStatus: .invited)
        Self.check([
            record, metadata, ShortGUIDsRequest(shortGUIDs: [ShortGUID(value: "s3cr3t")]), share, share.participants,
            share.participants.first as Any,
        ])
        #expect(Self.texts(of: participant).allSatisfy { $0.contains("_a") })
    }

    @Test func errorsDoNotContainSecrets() async throws {
        let container = CKContainer(
            identifier: "iCloud.a",
            connection: OwnConnection(
                Connection(
                    environment: .development,
                    transport: HTTPTransport(server: try #require(ServerAddress("http://127.0.0.1:1")), token: "s3cr3t"))))
        let error = await failure { try await container.privateCloudDatabase.allRecordZones() }
        let unwrapped = try #require(error)
        Self.check([unwrapped, unwrapped as NSError, unwrapped.userInfo])
        let broken = ConfigurationSources(environment: ["TARN_SERVER": "nonsense", "TARN_TOKEN": "s3cr3t"])
        let resolving = await failure { try ConfigurationResolver.resolve(container: "iCloud.a", broken) }
        Self.check([try #require(resolving)])
    }
}
