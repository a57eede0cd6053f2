// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CZlib
import CloudConsole
import CloudServer
import CloudWire
import NIOCore
import NIOHTTP1
import ServiceFixtures
import TestBasics
import Testing

/// Responses are compressed for clients that accept gzip, where that saves bytes and reveals no secret.
@Suite struct GzipTests {
    static let accepting = [("Accept-Encoding", "deflate, gzip;q=0.5")]

    /// The bytes of the server: the client of other tests decompresses them.
    private static func send(
        _ server: LiveServer, _ method: String, _ path: String, token: String? = nil, body: [UInt8] = [], headers: [(String, String)] = []
    ) async throws -> Answer {
        var configuration = HTTPClient.Configuration()
        configuration.decompression = .disabled
        let client = HTTPClient(configuration: configuration)
        var request = server.request(method, path, token: token, headers: headers)
        if !body.isEmpty { request.body = .bytes(ByteBuffer(bytes: body)) }
        do {
            let response = try await client.execute(request, timeout: .seconds(120))
            let bytes = try await response.body.collect(upTo: 10_000_000)
            try await client.shutdown()
            return Answer(status: Int(response.status.code), headers: response.headers, body: Array(bytes.readableBytesView))
        } catch {
            try await client.shutdown()
            throw error
        }
    }

    @Test func largeResponsesOfTheServiceAreCompressed() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let text = String(repeating: "a green leaf, ", count: 500)
            _ = try await server.modify(
                RecordOperation(.create, Record(recordName: "sage", recordType: "Plant", fields: ["name": Field(.string(text))])),
                token: token)
            let message = LookupRecordsRequest(recordNames: ["sage"], zoneID: LiveServer.garden).encoded()
            let path = "\(LiveServer.database)/records/lookup"
            let plain = try await Self.send(server, "POST", path, token: token, body: message)
            let compressed = try await Self.send(server, "POST", path, token: token, body: message, headers: Self.accepting)
            #expect(plain.headers["Content-Encoding"].isEmpty)
            #expect(plain.headers["Vary"].contains { $0.contains("Accept-Encoding") })
            #expect(compressed.headers["Content-Encoding"] == ["gzip"])
            #expect(compressed.headers["Vary"].contains { $0.contains("Accept-Encoding") })
            #expect(compressed.body.count < plain.body.count / 2)
            #expect(compressed.headers["Content-Length"] == ["\(compressed.body.count)"])
            #expect(
                try LookupRecordsResponse(json: Self.inflated(compressed.body)).results == LookupRecordsResponse(json: plain.body).results)
            // Small responses, errors, and responses to clients without gzip are not compressed.
            let zones = try await Self.send(server, "GET", "\(LiveServer.database)/zones/list", token: token, headers: Self.accepting)
            #expect(zones.status == 200)
            #expect(zones.headers["Content-Encoding"].isEmpty)
            for header in ["identity", "gzip;q=0", "br", "*;q=0, deflate", ""] {
                let answer = try await Self.send(server, "POST", path, token: token, body: message, headers: [("Accept-Encoding", header)])
                #expect(answer.headers["Content-Encoding"].isEmpty, "\(header)")
                #expect(answer.body == plain.body, "\(header)")
            }
            let document = try await Self.send(server, "GET", "/openapi.json", headers: Self.accepting)
            #expect(document.headers["Content-Encoding"] == ["gzip"])
            #expect(try Self.inflated(document.body).starts(with: Array("{".utf8)))
        }
    }

    /// A page repeats its address next to the code of its forms: the compressed length would reveal the code.
    @Test func responsesWithSecretsAreNotCompressed() async throws {
        let (village, _) = try await BrowserSession.signedIn()
        let console = Console(service: village.service, storage: village.store)
        try await LiveServer.run(pages: console) { server in
            for (path, isCompressed) in [("/cloudkit.js", true), ("/console.css", true), ("/console", false), ("/console/signin", false)] {
                let answer = try await Self.send(server, "GET", path, headers: Self.accepting)
                #expect(answer.headers["Content-Encoding"] == (isCompressed ? ["gzip"] : []), "\(path)")
            }
        }
    }

    @Test(arguments: [
        (nil, false), ("gzip", true), ("GZIP", true), ("x-gzip", true), ("gzip;q=0", false), ("gzip; q=0.0", false), ("gzip;q=1.0", true),
        ("*", true), ("*;q=0", false), ("*, gzip;q=0", false), ("br, gzip", true), ("gzipped", false), ("gzip;q=x", false), (",;,", false),
    ])
    func acceptEncodingIsParsedByItsStandard(_ header: String?, _ isAccepted: Bool) {
        #expect(Gzip.isAccepted(header) == isAccepted)
    }

    @Test func incompressibleResponsesAreSentUncompressed() throws {
        var random = SeededNumbers(seed: 7)
        let noise = (0..<5000).map { _ in UInt8.random(in: 0...255, using: &random) }
        #expect(Gzip.compressed(noise) == nil)
        #expect(Gzip.compressed([]) == nil)
        for count in [1, 2, 100, 65_536, 3_000_000] {
            let bytes = [UInt8](repeating: 7, count: count)
            guard let compressed = Gzip.compressed(bytes) else {
                #expect(count < 100)
                continue
            }
            #expect(try Self.inflated(compressed) == bytes)
            // Clients take more for an attack.
            #expect(compressed.count * Gzip.ratioMax >= count)
        }
    }

    static func inflated(_ bytes: [UInt8]) throws -> [UInt8] {
        var stream = z_stream()
        try #require(tarn_inflate_init_gzip(&stream) == Z_OK)
        defer { inflateEnd(&stream) }
        var (input, output) = (bytes, [UInt8](repeating: 0, count: 10_000_000))
        let status = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                return inflate(&stream, Z_FINISH)
            }
        }
        try #require(status == Z_STREAM_END)
        return Array(output.prefix(Int(stream.total_out)))
    }
}
