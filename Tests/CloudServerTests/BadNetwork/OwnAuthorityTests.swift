// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudEngineSQLite
import CloudKit
import CloudWire
import Foundation
import TestBasics
import Testing

@testable import TarnCommands

/// Servers with a certificate of the operator's own authority.
@Suite struct OwnAuthorityTests {
    private let files = TemporaryFolder()

    /// Runs something against a server that shows a certificate, with the token of a user there.
    private func serving(
        _ certificate: OperatorAuthority.Certificate, _ body: (_ address: String, _ token: String) async throws -> Void
    ) async throws {
        let data = TemporaryFolder()
        let token = try await Self.user(in: data)
        let paths = try OperatorAuthority.write(certificate, in: files)
        try await LocalServer.with(paths.certificatePath, key: paths.keyPath, in: data) { port in
            try await body("https://localhost:\(port)", token)
        }
    }

    /// Makes a user and gives the folder free again.
    private static func user(in data: TemporaryFolder) async throws -> String {
        let store = try SQLiteServerStore(path: data.path, use: .server, passwordRounds: 16)
        let token = try await store.addUser(name: "mia", deviceLabel: "tablet", now: 1_900_000_000_000)
        try store.close()
        return token
    }

    /// A container with a configuration of its own.
    private func container(_ address: String, _ token: String, authority: String?) -> CKContainer {
        let identifier = "iCloud.authority.\(UUID().uuidString)"
        CKContainer.configure(
            .init(
                server: address, token: CKContainer.Configuration.Token(token),
                caCertificate: authority.map { URL(fileURLWithPath: $0) }), for: identifier)
        return CKContainer(identifier: identifier)
    }

    @Test func aServerOfAPrivateAuthorityIsTrustedWithItsCertificateFile() async throws {
        let authority = try OperatorAuthority.write(in: files)
        try await serving(.good) { address, token in
            let trusting = container(address, token, authority: authority)
            #expect(try await trusting.accountStatus() == .available)
            let zone = try await trusting.privateCloudDatabase.save(CKRecordZone(zoneName: "Garden"))
            let record = CKRecord(recordType: "Plant", recordID: CKRecord.ID(recordName: "sage", zoneID: zone.zoneID))
            record["photo"] = CKAsset(fileURL: URL(fileURLWithPath: authority))
            try await trusting.privateCloudDatabase.save(record)
            let fetched = try await trusting.privateCloudDatabase.record(for: record.recordID)
            let photo = try #require((fetched["photo"] as? CKAsset)?.fileURL)
            #expect(try Data(contentsOf: photo) == Data(contentsOf: URL(fileURLWithPath: authority)))

            let doubtful = container(address, token, authority: nil)
            let error = await #expect(throws: CKError.self) { try await doubtful.privateCloudDatabase.allRecordZones() }
            #expect(error?.code == .networkFailure)
            #expect(error?.localizedDescription.contains("its certificate is not trusted") == true)
            #expect(error.map { !"\($0) \($0.userInfo)".contains(token) } == true)
            #expect(try await trusting.accountStatus() == .available, "one container's trust is not another's")
        }
    }

    @Test(arguments: [OperatorAuthority.Certificate.expired, .elsewhere])
    func anExpiredOrForeignCertificateOfAPrivateAuthorityIsRejected(_ certificate: OperatorAuthority.Certificate) async throws {
        let authority = try OperatorAuthority.write(in: files)
        try await serving(certificate) { address, token in
            let error = await #expect(throws: CKError.self) {
                try await container(address, token, authority: authority).privateCloudDatabase.allRecordZones()
            }
            #expect(error?.code == .networkFailure)
            #expect(error?.localizedDescription.contains("not for this host or not valid now") == true)
        }
    }

    /// The address of an asset is a credential, and tracers forward the addresses that they receive.
    @Test func theHTTPClientHasNoTracer() { #expect(ServerTrust.system.client.tracer == nil) }

    @Test func anAuthorityFileWithoutCertificatesIsReported() async throws {
        try FileManager.default.createDirectory(atPath: files.path, withIntermediateDirectories: true)
        let empty = files.path + "/empty.pem"
        try "nothing".write(toFile: empty, atomically: true, encoding: .utf8)
        for path in [empty, files.path + "/missing.pem"] {
            let error = await #expect(throws: CKError.self) {
                try await container("https://localhost:9", "s3cr3t", authority: path).privateCloudDatabase.allRecordZones()
            }
            #expect(error?.code == .badContainer)
            #expect(error?.localizedDescription.contains(path) == true)
            #expect(error.map { !"\($0) \($0.userInfo)".contains("s3cr3t") } == true)
        }
    }
}
