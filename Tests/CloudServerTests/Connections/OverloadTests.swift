// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import NIOHTTP1
import Testing

/// A server that gets more requests than it runs.
@Suite(.timeLimit(.minutes(5))) struct OverloadTests {
    private static func save(_ number: Int) -> [UInt8] {
        let operations = (0..<300).map {
            #"{"operationType":"forceUpdate","record":{"recordName":"r\#(number)-\#($0)","recordType":"T","fields":{"n":{"value":\#($0)}}}}"#
        }
        return Array(#"{"operations":[\#(operations.joined(separator: ","))]}"#.utf8)
    }

    @Test func requestsBeyondTheQueueAreRejectedWithRetryAfter() async throws {
        var limits = Limits()
        limits.concurrentRequests = 1
        limits.queueMilliseconds = 20
        try await LiveServer.run(limits: limits) { server in
            let tokens = [try await server.addUser("mia"), try await server.addUser("bo")]
            let answers = try await withThrowingTaskGroup(of: (status: Int, code: WireError.Code?, retryAfter: String?).self) { group in
                for number in 0..<40 {
                    group.addTask {
                        let answer = try await server.send(
                            "POST", "\(LiveServer.database)/records/modify", token: tokens[number % 2], body: Self.save(number))
                        return (Int(answer.status), answer.error?.code, answer.headers.first(name: "Retry-After"))
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let refused = answers.filter { $0.status != 200 }
            #expect(!refused.isEmpty)
            #expect(refused.count < answers.count)
            for answer in refused {
                #expect(answer.status == 503, "\(answer)")
                #expect(answer.code == .tryAgainLater, "\(answer)")
                #expect(try Int(#require(answer.retryAfter, "\(answer)")) ?? 0 >= 1)
            }
            let later = try await server.send("POST", "\(LiveServer.database)/records/modify", token: tokens[0], body: Self.save(0))
            #expect(later.status == 200)
        }
    }
}
