// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation

/// K1 to K3: the cost of the framework for an app, next to a client that sends prepared bytes and ignores responses.
enum Calling {
    static let bare = "bare client"
    private static let count = 300
    private static let batch = 200

    static func works(_ stage: CloudStage) -> [Work] {
        [
            Work(id: "K1", title: "fetch a record", unit: .microseconds, entrants: [fetch(stage), bareFetch(stage)]),
            Work(id: "K2", title: "save \(batch) records", unit: .microseconds, entrants: [save(stage), bareSave(stage)]),
            Work(id: "K3", title: "fetch a page of \(batch) changes", unit: .microseconds, entrants: [changes(stage), bareChanges(stage)]),
        ]
    }

    private static let zoneID = CKRecordZone.ID(zoneName: TarnServer.zone)

    private static func database(_ server: TarnServer) -> CKDatabase {
        CKContainer.configure(CKContainer.Configuration(server: server.address, token: .init(server.token)))
        return CKContainer(identifier: TarnServer.container).privateCloudDatabase
    }

    /// A server with a page of records in its zone, from number 0 on.
    private static func filled(_ stage: CloudStage) throws -> TarnServer {
        let server = try stage.tarn("calls")
        if server.rows == 0 {
            _ = try HTTPLoad(port: server.port, clients: 1).run(1) { _ in server.modify(0..<batch) }
            server.rows = batch
        }
        return server
    }

    private static func calls(_ count: Int, _ call: @escaping @Sendable (Int) async throws -> Void) throws -> Outcome {
        let samples = try blocking {
            var samples: [Duration] = []
            for index in 0..<count { samples.append(try await ContinuousClock().measure { try await call(index) }) }
            return samples
        }
        return Outcome(check: count, samples: samples)
    }

    private static func bytes(_ server: TarnServer, _ count: Int, _ request: @escaping (Int) -> [UInt8]) throws -> Outcome {
        Outcome(check: count, samples: try HTTPLoad(port: server.port, clients: 1).run(count, request).samples)
    }

    // MARK: K1

    private static func fetch(_ stage: CloudStage) -> Entrant {
        Entrant(Entrant.tarn) {
            let database = database(try filled(stage))
            return Trial {
                try calls(count) { _ = try await database.record(for: CKRecord.ID(recordName: CloudRows.name($0 % batch), zoneID: zoneID)) }
            }
        }
    }

    private static func bareFetch(_ stage: CloudStage) -> Entrant {
        Entrant(bare) {
            let server = try filled(stage)
            let requests = (0..<batch).map { index in
                server.post(
                    "records/lookup",
                    Array(#"{"zoneID":{"zoneName":"\#(TarnServer.zone)"},"records":[{"recordName":"\#(CloudRows.name(index))"}]}"#.utf8))
            }
            return Trial { try bytes(server, count) { requests[$0 % batch] } }
        }
    }

    // MARK: K2

    private static let saves = 20

    private static func save(_ stage: CloudStage) -> Entrant {
        Entrant(Entrant.tarn) {
            let server = try stage.tarn("saves")
            let database = database(server)
            let numbers = (0..<saves).map { _ in stage.newRows(batch) }
            return Trial {
                try calls(saves) { index in
                    let records = numbers[index].map { number in
                        let (title, content, timestamp) = CloudRows.fields(number)
                        let record = CKRecord(
                            recordType: "CD_Post", recordID: CKRecord.ID(recordName: CloudRows.name(number), zoneID: zoneID))
                        record["CD_title"] = title
                        record["CD_content"] = content
                        record["CD_entityName"] = "Post"
                        record["CD_timestamp"] = Date(timeIntervalSince1970: Double(timestamp) / 1000)
                        return record
                    }
                    let (saved, _) = try await database.modifyRecords(saving: records, deleting: [])
                    guard saved.count == batch else { throw CheckFailure(description: "not every record was saved") }
                }
            }
        }
    }

    private static func bareSave(_ stage: CloudStage) -> Entrant {
        Entrant(bare) {
            let server = try stage.tarn("saves")
            let requests = (0..<saves).map { _ in server.modify(stage.newRows(batch)) }
            return Trial { try bytes(server, saves) { requests[$0] } }
        }
    }

    // MARK: K3

    private static func changes(_ stage: CloudStage) -> Entrant {
        Entrant(Entrant.tarn) {
            let database = database(try filled(stage))
            return Trial {
                try calls(count) { _ in
                    let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
                    guard page.modificationResultsByID.count == batch else { throw CheckFailure(description: "not every record came") }
                }
            }
        }
    }

    private static func bareChanges(_ stage: CloudStage) -> Entrant {
        Entrant(bare) {
            let server = try filled(stage)
            let request = server.changes(after: nil, limit: batch)
            return Trial { try bytes(server, count) { _ in request } }
        }
    }
}
