// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1
import TestBasics
import Testing

@testable import PostsApp
@testable import TarnCommands

/// The way to the server that can be cut, with a device's own page as the server behind it.
@Suite(.closesFixtures, .tags(.slow)) struct RelayTests {
    @Test func bytesComeThroughInOrderBothWays() async throws {
        let folder = try Folder()
        try await withRelay(in: folder) { relay, device in
            let through = DeviceRemote(name: "relay", address: "http://127.0.0.1:\(relay.port)")
            let post = try await through.addPost("With a picture").post
            let picture = Data((0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) })
            try await through.attach(picture, thumbnail: Data([1]), name: "large", to: post.id)
            try await device.waits(for: "the picture is attached") { $0.posts[post.id]?.attachments.count == 1 }
            let attachment = try #require(await device.watch[.iPad].posts[post.id]?.attachments.first)
            #expect(try await through.picture(of: attachment.id) == picture)
        }
    }

    @Test func offlineClosesConnectionsAndRejectsNewOnes() async throws {
        let folder = try Folder()
        try await withRelay(in: folder) { relay, _ in
            let address = "http://127.0.0.1:\(relay.port)"
            // More than once: a rejected connection must not keep the relay from listening.
            for _ in 0..<5 {
                var events = try await Browser.events(of: address)
                relay.set(isOnline: false)
                try await Browser.waitForTheEnd(of: &events)
                await #expect(throws: (any Error).self) { try await Browser.text(of: address) }
                relay.set(isOnline: true)
                #expect(try await Browser.text(of: address).contains("Posts"))
            }
        }
    }

    private func withRelay(in folder: Folder, _ body: (Relay, TestDevice) async throws -> Void) async throws {
        let device = try await TestDevice(store: folder.path("store"), in: folder)
        let port = try #require(URL(string: device.remote.address)?.port)
        let relay = try await Relay(toHost: "127.0.0.1", port: port)
        let running = Task { try await relay.run() }
        try await body(relay, device)
        running.cancel()
        await device.stop()
    }
}

/// Messages between device and server, found in the bytes that the relay carries.
@Suite struct TrafficReaderTests {
    private func view(_ text: String) -> ByteBufferView { ByteBuffer(string: text).readableBytesView }

    @Test func aRequestEndsWithTheHeadOfItsResponse() {
        var reader = TrafficReader()
        reader.deviceSent(view("POST /database/1/x/records/modify?key=1 HTTP/1.1\r\nHost: a\r\n\r\n"), at: 10)
        reader.deviceSent(view("{\"operations\":[]}"), at: 11)
        let messages = reader.serverSent(view("HTTP/1.1 200 OK\r\nX-Apple-Request-UUID: ABC\r\n\r\n{"), at: 15)
        #expect(
            messages == [
                TraceMessage(kind: .request, began: 10, ended: 15, path: "/database/1/x/records/modify", status: 200, request: "ABC")
            ])
        #expect(reader.serverSent(view("\"a\":1}"), at: 16).isEmpty)
    }

    @Test func heartbeatsOfThePushStreamAreNotNotifications() {
        var reader = TrafficReader()
        reader.deviceSent(view("GET /device/1/x/push/stream HTTP/1.1\r\n\r\n"), at: 1)
        #expect(reader.serverSent(view("HTTP/1.1 200 OK\r\n\r\n"), at: 2).map(\.kind) == [.request])
        #expect(reader.serverSent(view("1\r\n\n\r\n"), at: 3).isEmpty)
        #expect(reader.serverSent(view("a\r\n{\"zone\":1}\n\r\n"), at: 4) == [TraceMessage(kind: .push, began: 4, ended: 4)])
    }
}

/// Requests to a device's page that are refused.
@Suite struct PageAccessTests {
    @Test(arguments: [
        ("127.0.0.1:8401", true), ("localhost:8401", true), ("device.example.org", false), ("192.168.1.2:8401", false), ("", false),
    ])
    func theHostIsThisMachine(_ authority: String, _ isAccepted: Bool) {
        let access = PageAccess(host: "127.0.0.1", key: nil)
        #expect((access.refusal(authority: authority, method: .get, contentType: nil) == nil) == isAccepted)
    }

    @Test func inANetworkThePageNeedsItsKey() throws {
        let access = PageAccess(host: "192.168.1.2", key: "secret")
        #expect(access.refusal(authority: "192.168.1.2:8401", method: .get, contentType: nil) == nil)
        #expect(access.refusal(authority: "localhost:8401", method: .get, contentType: nil) != nil)
        #expect(!access.hasKey(cookies: nil))
        #expect(!access.hasKey(cookies: "posts-key=secres"))
        #expect(access.cookie(forLink: "other") == nil)
        let cookie = try #require(access.cookie(forLink: "secret"))
        #expect(cookie.contains("HttpOnly; SameSite=Strict"))
        #expect(access.hasKey(cookies: "a=b; " + cookie.prefix { $0 != ";" }))
        #expect(PageAccess(host: "127.0.0.1", key: nil).hasKey(cookies: nil))
    }
}

/// Pages of other sites may not use a device, even when a browser on this machine shows them.
@Suite(.closesFixtures, .tags(.slow)) struct LocalOnlyTests {
    @Test func foreignPagesAreRefused() async throws {
        let folder = try Folder()
        let device = try await TestDevice(store: folder.path("store"), in: folder)
        let address = device.remote.address
        #expect(try await status("GET", address, ["Host": "device.example.org"]) == 403)
        #expect(try await status("POST", "\(address)/posts", ["Content-Type": "text/plain"]) == 415)
        #expect(try await status("POST", "\(address)/posts", [:]) == 415)
        #expect(try await status("DELETE", "\(address)/attachments/p1", [:]) == 404)
        #expect(try await status("GET", "\(address)/attachments/..%2Fp1/image", [:]) == 404)
        await device.stop()
    }

    private func status(_ method: String, _ url: String, _ headers: [String: String]) async throws -> UInt {
        var request = HTTPClientRequest(url: url)
        request.method = .RAW(value: method)
        for (name, value) in headers { request.headers.replaceOrAdd(name: name, value: value) }
        if method == "POST" { request.body = .bytes(ByteBuffer(string: "{}")) }
        return try await HTTPClient.shared.execute(request, timeout: .seconds(120)).status.code
    }
}
