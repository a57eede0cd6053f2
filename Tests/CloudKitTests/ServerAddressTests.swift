// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Testing

/// Addresses in a server's responses, which the server chooses.
@Suite struct ServerAddressTests {
    @Test(arguments: [
        ("https://cloud.example.org", "https://files.example.org/a", true), ("https://cloud.example.org", "/a", true),
        ("https://cloud.example.org", "http://cloud.example.org/a", false),
        ("https://cloud.example.org", "HTTP://cloud.example.org/a", false),
        ("https://cloud.example.org", "http://169.254.169.254/latest", false), ("http://10.0.0.7:8080", "http://10.0.0.7:8080/a", true),
        ("http://Home.local", "http://home.local:81/a", true), ("http://10.0.0.7:8080", "http://10.0.0.8/admin", false),
        ("http://10.0.0.7:8080", "http://127.0.0.1:2375/containers", false), ("http://10.0.0.7", "https://cloud.example.org/a", true),
        ("https://cloud.example.org", "//evil.example/a", false), ("https://cloud.example.org", "file:///etc/passwd", false),
    ])
    func addressesAreEncryptedOrOnTheServersHost(_ server: String, _ address: String, _ isAccepted: Bool) throws {
        #expect((try #require(ServerAddress(server)).resolve(address) != nil) == isAccepted)
    }

    @Test(arguments: [
        ("https://cloud.example.org", false), ("http://cloud.example.org", true), ("http://localhost:8080", false),
        ("http://127.0.0.1", false),
        ("http://[::1]:8080", false), ("http://localhost.example.org", true),
    ])
    func unencryptedRemoteServersAreKnown(_ server: String, _ isOne: Bool) throws {
        #expect(try #require(ServerAddress(server)).isUnencryptedRemote == isOne)
    }
}
