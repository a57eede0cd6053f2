// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudWire
import Foundation
import NIOCore
import NIOHTTP1
import SystemSupport

/// Checks of a server over the network, as a client reaches it.
struct ServerChecks {
    private static let timeout = TimeAmount.seconds(10)
    private static let bytesMax = 1 << 20
    /// Clock skew. From the second threshold on, the server rejects requests that a key signs.
    private static let skew = (warning: Int64(5_000), problem: Int64(600_000))

    let setup: ClientSetup
    let container: String?
    let environment: CloudEnvironment

    private struct Reply {
        var status: Int
        var headers: HTTPHeaders
        var body: [UInt8]
        /// Milliseconds since 1970 UTC at half of the round trip, and the round trip in milliseconds.
        var time: Int64
        var milliseconds: Int64
    }

    func run() async -> [Finding] {
        guard RecordTarget.isAddress(setup.server) else {
            return [
                .problem(
                    "address", "'\(setup.server)' isn't a server's address", "write scheme and host, such as https://cloud.example.org")
            ]
        }
        var findings: [Finding] = []
        let host = URLComponents(string: setup.server)?.host ?? ""
        if setup.server.hasPrefix("http:"), !["localhost", "127.0.0.1", "[::1]", "::1"].contains(host) {
            findings.append(
                .warning(
                    "address", "\(setup.server) is not encrypted: tokens and data can be read on the way",
                    "give the server a certificate with --tls-certificate, or put a TLS proxy in front, and use https://"))
        }
        let client: HTTPClient
        do {
            client = try RemoteClient.make(caCertificate: setup.caCertificate)
        } catch {
            return findings + [.problem("CA certificate", error.description, "name a readable PEM file, or unset TARN_CA_CERTIFICATE")]
        }
        findings += await checks(client)
        if setup.server.hasPrefix("https:"), let certificate = await ServerCertificate.expiry(of: setup.server) {
            findings.append(Self.finding(certificate: certificate, now: Int64(Date().timeIntervalSince1970)))
        }
        try? await client.shutdown()
        return findings
    }

    private func checks(_ client: HTTPClient) async -> [Finding] {
        let health: Reply
        do {
            health = try await get("/health", client)
        } catch {
            return [Self.unreachable(setup.server, "\(error)")]
        }
        if health.status == 421 {
            return [
                .problem(
                    "public address", "the server does not answer for the host of \(setup.server)",
                    "use the address of its setting public-address, or change the setting; a proxy has to pass the Host on")
            ]
        }
        guard health.status == 200, String(decoding: health.body, as: UTF8.self).contains(#""status":"ok""#) else {
            return [
                .problem(
                    "reachability", "\(setup.server) answers with HTTP status \(health.status), not as a tarn server does",
                    "check host, port and path of the address, and the proxy in front of the server")
            ]
        }
        var findings = [Finding.ok("reachability", "the server answers in \(health.milliseconds) ms")]
        findings.append(Self.clock(health.headers.first(name: HeaderNames.serverTime), now: health.time))
        if let ready = try? await get("/ready", client) {
            findings.append(
                ready.status == 200
                    ? .ok("data", "the server can read its data")
                    : .problem(
                        "data", "the server cannot read its data (HTTP status \(ready.status))",
                        "run 'tarn doctor --data FOLDER' at the server, and read its log"))
        }
        return findings + (await credentials(client))
    }

    /// - Parameters:
    ///   - header: The server's time in milliseconds since 1970 UTC: any text, since the server may be any.
    ///   - now: Milliseconds since 1970 UTC.
    static func clock(_ header: String?, now: Int64) -> Finding {
        guard let time = header.flatMap({ Int64($0) }) else {
            return .warning("clock", "the server does not say its time", "update the server")
        }
        let difference = now - UntrustedNumber.milliseconds(time)
        let text = "\(Double(abs(difference) / 100) / 10) s \(difference > 0 ? "ahead of" : "behind") the server"
        switch abs(difference) {
        case ...Self.skew.warning: return .ok("clock", "this machine and the server agree")
        case ...Self.skew.problem: return .warning("clock", "this machine is \(text)", "synchronize both clocks (NTP)")
        default:
            return .problem(
                "clock", "this machine is \(text): certificates and signed requests can be refused", "synchronize both clocks (NTP)")
        }
    }

    private func credentials(_ client: HTTPClient) async -> [Finding] {
        guard let token = setup.token else {
            return [
                .warning(
                    "token", "no token is set: only public records can be read",
                    "run 'tarn user token NAME' at the server and set TARN_TOKEN")
            ]
        }
        guard let container else {
            return [.warning("token", "not checked, since it is sent for a container", "name the container with --container")]
        }
        let path = ServicePath(containerIdentifier: container, environment: environment, scope: .public, operation: .caller).path
        guard let reply = try? await get(path, client, token: token) else {
            return [.problem("token", "the connection broke", "try again")]
        }
        if reply.status == 200 {
            return [.ok("token", "valid"), .ok("container", "\(container), \(environment.rawValue): open to the token's user")]
        }
        let reason = (try? WireError(json: reply.body))?.reason ?? "HTTP status \(reply.status)"
        if reply.status == 401 || reply.status == 421 {
            return [.problem("token", reason, "run 'tarn user token NAME' at the server and set TARN_TOKEN to the token it prints")]
        }
        return [
            .problem(
                "container", "\(container), \(environment.rawValue): \(reason)",
                "name a container of the server's setting containers, and an environment that is open to the user")
        ]
    }

    private func get(_ path: String, _ client: HTTPClient, token: String? = nil) async throws -> Reply {
        let root = setup.server.hasSuffix("/") ? String(setup.server.dropLast()) : setup.server
        var request = HTTPClientRequest(url: root + path)
        request.headers.add(name: HeaderNames.capabilities, value: Capability.headerValue([.serverTime]))
        if let token { request.headers.add(name: HeaderNames.authorization, value: HeaderNames.bearer(token)) }
        let start = Date()
        let response = try await client.execute(request, timeout: Self.timeout)
        let body = try await response.body.collect(upTo: Self.bytesMax)
        let seconds = Date().timeIntervalSince(start)
        return Reply(
            status: Int(response.status.code), headers: response.headers, body: Array(body.readableBytesView),
            time: Int64((start.timeIntervalSince1970 + seconds / 2) * 1000), milliseconds: Int64(seconds * 1000))
    }

    /// - Parameter error: Description of the client's error, which names the cause.
    static func unreachable(_ server: String, _ error: String) -> Finding {
        let text = error.lowercased()
        if text.contains("certificate_verify_failed") || text.contains("certificate") || text.contains("hostname") {
            return .problem(
                "TLS", "the certificate of \(server) is not trusted",
                "check its names and dates; for an authority of your own set TARN_CA_CERTIFICATE to its PEM file")
        }
        if text.contains("handshake") || text.contains("ssl") || text.contains("tls") {
            return .problem(
                "TLS", "\(server) does not speak TLS as expected", "check the port, and whether the address begins with http:// or https://"
            )
        }
        if text.contains("refused") || text.contains("econnrefused") {
            return .problem(
                "reachability", "no program listens at \(server)",
                "start the server, and check host and port; --host 0.0.0.0 listens on all addresses")
        }
        if text.contains("timeout") || text.contains("deadline") {
            return .problem("reachability", "\(server) does not answer in time", "check host, port and firewall")
        }
        return .problem("reachability", "\(server) cannot be reached", "check the name (DNS), the network and the firewall")
    }

    /// - Parameters:
    ///   - certificate: Seconds since 1970 UTC.
    ///   - now: The same.
    static func finding(certificate expiry: Int64, now: Int64) -> Finding {
        let days = (expiry - now) / 86_400
        let date = TimeText.utc(expiry * 1000)
        if expiry <= now { return .problem("certificate", "expired at \(date)", "renew it; the server reads new files by itself") }
        if days < 14 {
            return .warning(
                "certificate", "expires in \(CountText.text(days, "day")), at \(date)", "renew it; the server reads new files by itself")
        }
        return .ok("certificate", "valid until \(date)")
    }
}
