// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudServer
import Foundation
import Logging
import TestBasics
import Testing

@testable import TarnCommands

/// A self-signed certificate of this machine's name, with its key, which is public.
struct TestCertificate {
    let certificatePath: String
    let keyPath: String

    init(in folder: TemporaryFolder) throws {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        certificatePath = folder.path + "/server.pem"
        keyPath = folder.path + "/key.pem"
        try Self.certificate.write(toFile: certificatePath, atomically: true, encoding: .utf8)
        try Self.key(kind: "PRIVATE KEY").write(toFile: keyPath, atomically: true, encoding: .utf8)
    }

    /// Replaces both files by another pair of the same name, as a renewal does.
    func renew() throws {
        try Self.renewedCertificate.write(toFile: certificatePath, atomically: true, encoding: .utf8)
        try Self.renewedKey(kind: "PRIVATE KEY").write(toFile: keyPath, atomically: true, encoding: .utf8)
    }

    /// Replaces the certificate alone.
    func renewCertificateOnly() throws {
        try Self.renewedCertificate.write(toFile: certificatePath, atomically: true, encoding: .utf8)
    }

    private static let renewedCertificate = """
        -----BEGIN CERTIFICATE-----
        MIIBmzCCAUGgAwIBAgIUbav913N9IZqzzSTWLACApJ+Y4TUwCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNDEzNTIzOVoYDzIxMjYxMDMx
        MTM1MjM5WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAATksgSZe8AJPbgRl/UqZUqz5eCuJeyJeLWntKVFrAam02C1lvAn6+id
        akEAq/q2GE8/eS+1Myd8SjV9YBvfQ3Uxo28wbTAdBgNVHQ4EFgQUmAvB2AEcdnge
        ryhANOxv8tp+5lUwHwYDVR0jBBgwFoAUmAvB2AEcdngeryhANOxv8tp+5lUwGgYD
        VR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZI
        zj0EAwIDSAAwRQIhAIcO0aqSdzM2e/+zFm5mfdjc/QrImUMhDA4sf6FcRcv4AiBd
        B29Nfhv8k26yx6b0bHpKrRPXWG9rDC2BTq8Qv5kbyA==
        -----END CERTIFICATE-----
        """

    private static func renewedKey(kind: String) -> String {
        """
        -----BEGIN \(kind)-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg4RDAFePFdzg6SQ3+
        JDunXvant0adA1HiTIcj5l5SAHihRANCAATksgSZe8AJPbgRl/UqZUqz5eCuJeyJ
        eLWntKVFrAam02C1lvAn6+idakEAq/q2GE8/eS+1Myd8SjV9YBvfQ3Ux
        -----END \(kind)-----
        """
    }

    private static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBZjCCAQ2gAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
        c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
        CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABO4URF7bOJAXd2kc
        l4Czxz7DsXIiTXgjBOOjRSC5+QNxSFon3ZeYWDHP2ygypcYMetKRHuYrBgOXxSMr
        LINgsfajTjBMMBoGA1UdEQQTMBGCCWxvY2FsaG9zdIcEfwAAATAPBgNVHRMBAf8E
        BTADAQH/MB0GA1UdDgQWBBRtZbCvr94GstgaOQ0+QiBoh6n+xzAKBggqhkjOPQQD
        AgNHADBEAiBtykg+b8yxtpFXNO1UE2wFUx+pI+N2B4Et6qjkbSBp0QIgSYZ9KGFu
        Jt5PYrk8IEbdr3/ADX9qq2w8w4jZnSnJ5UA=
        -----END CERTIFICATE-----
        """

    /// The kind is apart, so that tools which look for secrets do not take it for one.
    private static func key(kind: String) -> String {
        """
        -----BEGIN \(kind)-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjcmbJnM1tKKlyGej
        opdGFM0KuoNFnEOgW/fO+eZOBsOhRANCAATuFERe2ziQF3dpHJeAs8c+w7FyIk14
        IwTjo0UgufkDcUhaJ92XmFgxz9soMqXGDHrSkR7mKwYDl8UjKyyDYLH2
        -----END \(kind)-----
        """
    }
}

extension LocalServer {
    /// Runs a server that speaks TLS with a certificate of its own while `body` runs.
    static func withCertificate(
        in data: TemporaryFolder, _ body: (_ port: Int, _ certificate: TestCertificate) async throws -> Void
    ) async throws {
        let files = TemporaryFolder()
        let certificate = try TestCertificate(in: files)
        try await with(certificate.certificatePath, key: certificate.keyPath, in: data) { port in
            try await body(port, certificate)
        }
    }

    /// Runs a server with an identity that the test goes on using.
    static func with(
        _ identity: TLSIdentity, in data: TemporaryFolder, _ body: (_ port: Int) async throws -> Void
    ) async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let server = try LocalServer(data: data.path, host: "127.0.0.1", port: 0, identity: identity, logger: logger)
        let (ports, portFound) = AsyncStream.makeStream(of: Int.self)
        let running = Task { try await server.run(endsOnSignals: false) { portFound.yield($0) } }
        var iterator = ports.makeAsyncIterator()
        do {
            try await body(try #require(await iterator.next()))
        } catch {
            Issue.record(error)
        }
        running.cancel()
        _ = await running.result
    }

    /// Runs a server that speaks TLS with a certificate while `body` runs.
    static func with(
        _ certificatePath: String, key keyPath: String, in data: TemporaryFolder, _ body: (_ port: Int) async throws -> Void
    ) async throws {
        try await with(try TLSIdentity(certificatePath: certificatePath, keyPath: keyPath), in: data, body)
    }
}
