// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Testing

@testable import CloudServer

@Suite struct HostTests {
    @Test(arguments: [
        ("cloud.example.com", "cloud.example.com"), ("Cloud.Example.COM.", "cloud.example.com"), ("a:443", "a"), ("a:8443", "a:8443"),
        ("127.0.0.1:8080", "127.0.0.1:8080"), ("[::1]:443", "[::1]"), ("[FE80::1]", "[fe80::1]"), ("a:", "a"),
    ])
    func hostNamesAreNormalized(_ text: String, _ authority: String) {
        #expect(HostHeader(text, scheme: "https")?.authority == authority)
    }

    @Test(arguments: [
        "", " ", "a b", "a/b", "a@b", "a:0", "a:65536", "a:x", "a:1:2", "[::1", "[zz]", "[::1]x", "a\r\nb", "ä", "a,b", "a?b", "a#b",
        "a\\b", "<a>", ".",
        String(repeating: "a", count: 256),
    ])
    func aMalformedHostIsRejected(_ text: String) {
        #expect(HostHeader(text, scheme: "https") == nil)
        #expect(HostRule(publicAddress: nil).verdict(hosts: [text], scheme: "http") == .malformed)
    }

    @Test func aRequestNeedsExactlyOneHost() {
        let rule = HostRule(publicAddress: nil)
        #expect(rule.verdict(hosts: [], scheme: "http") == .malformed)
        #expect(rule.verdict(hosts: ["a", "a"], scheme: "http") == .malformed)
        #expect(rule.verdict(hosts: ["A:80"], scheme: "http") == .accepted(scheme: "http", authority: "a"))
    }

    @Test func thePublicAddressDecidesTheAcceptedHostAndTheBaseURL() throws {
        let rule = HostRule(publicAddress: try #require(PublicAddress("HTTPS://Cloud.Example.com/") as PublicAddress?))
        let own = HostRule.Verdict.accepted(scheme: "https", authority: "cloud.example.com")
        #expect(rule.verdict(hosts: ["cloud.example.com:443"], scheme: "https") == own)
        #expect(rule.verdict(hosts: ["127.0.0.1:8080"], scheme: "http") == own, "a health check by address")
        #expect(rule.verdict(hosts: ["evil.example"], scheme: "https") == .foreign)
        #expect(rule.verdict(hosts: ["cloud.example.com.evil.example"], scheme: "https") == .foreign)
        #expect(rule.verdict(hosts: ["127.0.0.1.evil.example"], scheme: "https") == .foreign)
    }

    @Test(arguments: ["cloud.example.com", "ftp://a", "https://", "https://a/b", "https://a b", "://a"])
    func aPublicAddressWithoutSchemeOrWithAPathIsRejected(_ text: String) {
        #expect(PublicAddress(text) == nil)
    }
}
