// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Synchronization

/// A device that saves, deletes and reads without end, and remembers each acknowledged change. A request without a response is
/// repeated with its idempotency key until it is acknowledged, so that nothing stays in doubt.
final class SoakDevice: Sendable {
    /// The acknowledged value of each record; nil for a deleted one.
    private let acknowledged = Mutex<[String: Int?]>([:])
    private let counts = Mutex((saves: 0, retries: 0))
    let name: String
    private let port: Int
    private let token: String
    private let zone: String
    private let recordCount = 400

    init(name: String, port: Int, token: String) {
        self.name = name
        self.port = port
        self.token = token
        zone = "Zone-\(name)"
    }

    var saves: Int { counts.withLock { $0.saves } }
    var retries: Int { counts.withLock { $0.retries } }

    /// Works until `isOver`, and ends with no request in doubt, unless `isAbandoned` says that the server does not come back.
    func run(seed: UInt64, isOver: @escaping @Sendable () -> Bool, isAbandoned: @escaping @Sendable () -> Bool) {
        var random = StressRandom(seed: seed)
        let connection = StressConnection(port: port, timeout: 15)
        let zoneBody = #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"\#(zone)"}}}]}"#
        guard acknowledge("zones/modify", zoneBody, key: "zone", connection, isAbandoned) else { return }
        var number = 0
        while !isOver() {
            number += 1
            if random.next() % 8 == 0 {
                _ = connection.exchange(post("changes/zone", #"{"zones":[{"zoneID":{"zoneName":"\#(zone)"},"resultsLimit":50}]}"#))
                continue
            }
            var changes: [String: Int?] = [:]
            for _ in 0...(random.next() % 5) {
                let record = "r\(random.next() % UInt64(recordCount))"
                if random.next() % 10 == 0 { changes[record] = .some(nil) } else { changes[record] = number }
            }
            let operations = changes.sorted { $0.key < $1.key }.map { name, value in
                value.map {
                    #"{"operationType":"forceUpdate","record":{"recordName":"\#(name)","recordType":"Soak","fields":{"n":{"type":"INT64","value":\#($0)}}}}"#
                } ?? #"{"operationType":"forceDelete","record":{"recordName":"\#(name)"}}"#
            }
            let body = #"{"zoneID":{"zoneName":"\#(zone)"},"operations":[\#(operations.joined(separator: ","))]}"#
            guard acknowledge("records/modify", body, key: "k\(seed)-\(number)", connection, isAbandoned) else { return }
            acknowledged.withLock { $0.merge(changes) { $1 } }
            counts.withLock { $0.saves += 1 }
            usleep(UInt32(random.next() % 8000))
        }
    }

    private func acknowledge(
        _ operation: String, _ body: String, key: String, _ connection: StressConnection, _ isAbandoned: () -> Bool
    ) -> Bool {
        let request = post(operation, body, headers: ["X-Tarn-Idempotency-Key: \(name)-\(key)"])
        while !isAbandoned() {
            if let response = connection.exchange(request), response.status == 200,
                Bytes.end(of: "serverErrorCode", in: response.body) == nil
            {
                return true
            }
            counts.withLock { $0.retries += 1 }
            usleep(50_000)
        }
        return false
    }

    private func post(_ operation: String, _ body: String, headers: [String] = []) -> [UInt8] {
        StressServer.request(operation, body, token: token, headers: headers)
    }

    /// Compares the acknowledged changes with the server's records.
    ///
    /// - Returns: Differences.
    func check() -> [String] {
        let connection = StressConnection(port: port, timeout: 60)
        var differences = acknowledged.withLock { $0 }.sorted { $0.key < $1.key }.compactMap { difference($0.key, $0.value, connection) }
        // A check that does not miss what was never saved would not miss a lost record either.
        if difference("never-saved", 1, connection) == nil { differences.append("\(name): the check does not notice a missing record") }
        return differences
    }

    private func difference(_ record: String, _ value: Int?, _ connection: StressConnection) -> String? {
        let body = #"{"zoneID":{"zoneName":"\#(zone)"},"records":[{"recordName":"\#(record)"}]}"#
        guard let response = connection.exchange(post("records/lookup", body)), response.status == 200 else {
            return "\(name) \(record): no response"
        }
        let text = String(decoding: response.body, as: UTF8.self)
        guard let value else {
            return text.contains("NOT_FOUND") ? nil : "\(name) \(record): the deletion was acknowledged, and the record is there"
        }
        // The field may be written with its type before or after its value.
        if text.contains(#""value":\#(value),"#) || text.contains(#""value":\#(value)}"#) { return nil }
        return "\(name) \(record): \(value) was acknowledged, and the server has another: \(text.prefix(300))"
    }
}

/// Seeded random numbers (SplitMix64).
struct StressRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
