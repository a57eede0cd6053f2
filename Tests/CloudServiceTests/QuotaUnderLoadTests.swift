// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import Foundation
import GRDB
import ServiceFixtures
import StorageFixtures
import TestBasics
import Testing

/// Quotas under parallel, partial and idempotent writes: nothing that a user sends takes more of the disk than the quota.
@Suite struct QuotaUnderLoadTests {
    private static let quota = 200_000
    /// Bytes of one record here, and more than one response.
    private static let recordBytes = 20_000

    /// Bytes of the user's database by kind.
    private struct Stored {
        var records = 0
        var answers = 0
        var countedAnswers = 0
        var files = 0

        init(_ place: ServerPlace) throws {
            let folder = place.folder.path
            records = try Self.sum("record_bytes + asset_bytes", of: "partitions", in: place)
            answers = try Self.sum("length(key) + length(body)", of: "answers", in: place)
            countedAnswers = try Self.sum("answer_bytes", of: "partitions", in: place)
            let paths = try FileManager.default.subpathsOfDirectory(atPath: folder).filter {
                $0.hasPrefix("assets/") || $0.hasPrefix("incoming/")
            }
            files = try paths.reduce(0) { sum, path in
                let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(path)")
                return sum + (attributes[.type] as? FileAttributeType == .typeRegular ? attributes[.size] as? Int ?? 0 : 0)
            }
        }

        private static func sum(_ expression: String, of table: String, in place: ServerPlace) throws -> Int {
            let statement = "SELECT coalesce(sum(\(expression)), 0) FROM \(table)"
            if place.database != nil { return Int(try place.sql(statement)) ?? -1 }
            return try DatabaseQueue(path: "\(place.folder.path)/tarn.sqlite").read { try Int.fetchOne($0, sql: statement) ?? -1 }
        }
    }

    private static func village() throws -> Village {
        var limits = Limits()
        limits.userBytes = quota
        return try Village(limits: limits)
    }

    private static func record(_ name: String, _ letter: String) -> CloudWire.Record {
        CloudWire.Record(
            recordName: name, recordType: "Plant", fields: ["text": Field(.string(String(repeating: letter, count: recordBytes)))])
    }

    private static func send(_ operation: RecordOperation, key: String?, _ mia: Village.Villager) async -> Int {
        let request = ModifyRecordsRequest(operations: [operation], zoneID: mia.zone())
        return await mia.send(.private, .modifyRecords, request.encoded(), key: key).status
    }

    @Test func idempotentUpdatesAtTheQuotaLeaveOneAnswer() async throws {
        let village = try Self.village()
        let mia = try await village.villager("mia")
        for index in 0..<9 {
            #expect(await Self.send(RecordOperation(.create, Self.record("r\(index)", "a")), key: "c\(index)", mia) == 200)
        }
        for index in 0..<60 {
            let update = RecordOperation(.forceUpdate, Self.record("r0", index.isMultiple(of: 2) ? "b" : "c"))
            #expect(await Self.send(update, key: "u\(index)", mia) == 200, "an update that takes no more is never refused")
        }
        let stored = try Stored(village.place)
        #expect(stored.answers == stored.countedAnswers)
        #expect(stored.records <= Self.quota)
        // The remaining quota, and the response of the last request.
        #expect(stored.records + stored.answers <= Self.quota + Self.recordBytes + 1000)
        // A retry of the last request gets its response; it is not carried out again.
        let tag = try await mia.lookup("r0")[0].record?.recordChangeTag
        #expect(await Self.send(RecordOperation(.forceUpdate, Self.record("r0", "c")), key: "u59", mia) == 200)
        #expect(try await mia.lookup("r0")[0].record?.recordChangeTag == tag)
    }

    @Test func answersHaveALimitWithoutAQuota() async throws {
        var limits = Limits()
        limits.answerBytes = 100_000
        let village = try Village(limits: limits)
        let mia = try await village.villager("mia")
        for index in 0..<30 {
            #expect(await Self.send(RecordOperation(.create, Self.record("r\(index)", "a")), key: "c\(index)", mia) == 200)
        }
        let stored = try Stored(village.place)
        #expect(stored.answers == stored.countedAnswers)
        #expect(stored.answers <= limits.answerBytes)
        #expect(stored.answers > Self.recordBytes, "the newest are stored")
    }

    @Test func parallelWritesAndUploadsStayBelowTheQuota() async throws {
        let village = try Self.village()
        let mia = try await village.villager("mia")
        let items = (0..<20).map { AssetUploadRequest.Item(recordType: "Plant", recordName: "f\($0)", fieldName: "photo") }
        let response = try await mia.ask(
            .private, .uploadAssets, AssetUploadRequest(items: items, zoneID: mia.zone()), AssetUploadResponse.self)
        let paths = response.results.compactMap { result -> String? in
            guard case .address(let address) = result else { return nil }
            return String(address.url.dropFirst("http://tarn.example".count))
        }
        #expect(paths.count == 20)
        await withTaskGroup { group in
            for (index, path) in paths.enumerated() {
                let bytes = [UInt8](repeating: UInt8(index), count: Self.recordBytes)
                group.addTask {
                    // Whole files, and files of which only a part arrives.
                    let isPart = index.isMultiple(of: 3)
                    let headers: RequestHeaders = isPart ? ["upload-offset": "0", "upload-complete": "?0"] : [:]
                    let request = ServiceRequest(
                        method: isPart ? "PATCH" : "POST", path: path, headers: headers, body: .bytes(bytes), baseURL: "http://tarn.example"
                    )
                    _ = await village.service.respond(to: request)
                }
                group.addTask { _ = await Self.send(RecordOperation(.create, Self.record("r\(index)", "a")), key: "k\(index)", mia) }
                group.addTask {
                    let request = ModifyRecordsRequest(
                        operations: (0..<3).map { RecordOperation(.create, Self.record("p\(index)-\($0)", "d")) }, zoneID: mia.zone(),
                        atomic: false)
                    _ = await mia.send(.private, .modifyRecords, request.encoded())
                }
            }
        }
        let stored = try Stored(village.place)
        #expect(stored.answers == stored.countedAnswers)
        #expect(stored.records > 0)
        // Records are checked against the quota alone, uploads against what is left of it at that time; together they may pass it by what
        // was uploaded before the records, which no record names and which is removed after a day.
        #expect(stored.records <= Self.quota)
        #expect(stored.files <= Self.quota)
        #expect(stored.records + stored.answers <= Self.quota + 3 * Self.recordBytes)
    }
}
