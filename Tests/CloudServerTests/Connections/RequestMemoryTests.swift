// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire
import Foundation
import NIOHTTP1
import Testing

/// Bodies that would take more memory than a request may have.
@Suite(.timeLimit(.minutes(5))) struct RequestMemoryServerTests {
    private static let query = "/database/1/no.such.container/development/public/records/query"

    private static func query(ofValues count: Int) -> [UInt8] {
        let values = Array(repeating: "1", count: count).joined(separator: ",")
        return Array(
            #"{"query":{"recordType":"T","filterBy":{"fieldName":"a","comparator":"IN","fieldValue":{"type":"INT64_LIST","value":[\#(values)]}}}}"#
                .utf8)
    }

    @Test func anonymousClientsHaveASmallerBodyLimit() async throws {
        try await LiveServer.run { server in
            let over = try await server.send("POST", Self.query, token: nil, body: Self.query(ofValues: 200_000))
            #expect(over.status == 413)
            #expect(over.error?.nativeCode == .limitExceeded)
        }
    }

    @Test func tooManyValuesAreRejectedBeforeDecoding() async throws {
        var limits = Limits()
        limits.valuesPerRequest = 1000
        try await LiveServer.run(limits: limits) { server in
            let token = try await server.addUser("mia")
            let path = "\(LiveServer.database)/records/query"
            let over = try await server.send("POST", path, token: token, body: Self.query(ofValues: 1001))
            #expect(over.status == 400)
            #expect(over.error?.nativeCode == .limitExceeded)
            #expect(over.error?.reason.contains("1000 values") == true)
        }
    }

    @Test func tooLongListsAreRejectedBeforeDecoding() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            let values = Array(repeating: "1", count: 50_001).joined(separator: ",")
            // No operation of the request is decoded: the second one is invalid.
            let record = #"{"recordName":"r","recordType":"T","fields":{"l":{"type":"INT64_LIST","value":[\#(values)]}}}"#
            let body = #"{"operations":[{"operationType":"create","record":\#(record)},{"operationType":7}]}"#
            let over = try await server.send("POST", "\(LiveServer.database)/records/modify", token: token, body: Array(body.utf8))
            #expect(over.status == 400)
            #expect(over.error?.nativeCode == .limitExceeded)
            #expect(over.error?.reason == "a list has at most 50000 elements")
        }
    }

    /// A body that was received in part holds its room until its connection ends.
    @Test func aRequestBeyondTheRequestMemoryIsRejectedWithRetryAfter() async throws {
        var limits = Limits()
        limits.requestMemoryBytes = 1_000_000
        try await LiveServer.run(limits: limits) { server in
            let mia = try await server.addUser("mia"), bo = try await server.addUser("bo")
            let path = "\(LiveServer.database)/zones/list"
            let head =
                "POST \(LiveServer.database)/records/modify HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\nAuthorization: Bearer \(mia)\r\n"
            var raw: RawConnection?
            var answer = try await server.send("POST", path, token: bo, body: Array("{}".utf8))
            var tries = 0
            // Until the head of the first request was read. It is rejected itself if it arrives while another request has memory.
            while answer.status == 200 {
                if tries.isMultiple(of: 50) {
                    raw?.reset()
                    raw = try RawConnection(port: server.port)
                    await raw?.send(head + "Content-Length: 999999\r\n\r\n" + String(repeating: " ", count: 999_990))
                }
                tries += 1
                answer = try await server.send("POST", path, token: bo, body: Array("{}".utf8))
            }
            #expect(answer.status == 503)
            #expect(answer.headers.first(name: "Retry-After") == "1")
            raw?.reset()
            raw = nil
            while answer.status == 503 { answer = try await server.send("POST", path, token: bo, body: Array("{}".utf8)) }
            #expect(answer.status == 200)
        }
    }

    /// Announced lengths reserve nothing: a network could name any, and send a byte now and then.
    @Test func announcedBytesTakeNoMemory() async throws {
        var limits = Limits()
        limits.requestMemoryBytes = 1_000_000
        try await LiveServer.run(limits: limits) { server in
            let mia = try await server.addUser("mia"), bo = try await server.addUser("bo")
            let head =
                "POST \(LiveServer.database)/records/modify HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\nAuthorization: Bearer \(mia)\r\n"
            let slow = try (0..<4).map { _ in try RawConnection(port: server.port) }
            for connection in slow { await connection.send(head + "Content-Length: 900000\r\n\r\n{") }
            let long = Array(("{" + String(repeating: " ", count: 200_000) + "}").utf8)
            for _ in 0..<50 {
                #expect(try await server.send("POST", "\(LiveServer.database)/zones/list", token: bo, body: long).status == 200)
            }
            withExtendedLifetime(slow) {}
        }
    }

    /// A client that asks for long responses and does not read them.
    @Test func anUnreadResponseTakesMemoryUntilItsConnectionIsClosed() async throws {
        var limits = Limits()
        limits.requestMemoryBytes = 20_000_000
        // A second for each part of a response.
        (limits.bodyGraceSeconds, limits.bodyBytesPerSecond) = (1, 1_000_000)
        try await LiveServer.run(limits: limits) { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            for number in 0..<4 {
                let fields = ["t": Field(.string(String(repeating: "x", count: 900_000)))]
                let record = Record(recordName: "r\(number)", recordType: "T", fields: fields)
                let message = ModifyRecordsRequest(
                    operations: [RecordOperation(.create, record)], zoneID: LiveServer.garden)
                #expect(try await server.post(.modifyRecords, message, token: token).status == 200)
            }
            let body = ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: LiveServer.garden)]).encoded()
            let head =
                "POST \(LiveServer.database)/changes/zone HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\nAuthorization: Bearer \(token)\r\n"
            let connection = try RawConnection(port: server.port, receiveBytes: 4096)
            let request = head + "Content-Length: \(body.count)\r\n\r\n" + String(decoding: body, as: UTF8.self)
            // More than the kernel's buffers take.
            for _ in 0..<4 { await connection.send(request) }
            while server.service.requestMemoryInUse == 0 { await Task.yield() }
            // The connection is closed before it received everything.
            while server.service.requestMemoryInUse > 0 { await Task.yield() }
            #expect(try await connection.readToEnd().utf8.count < 12_000_000)
        }
    }
}
