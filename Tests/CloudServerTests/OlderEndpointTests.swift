// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Testing

@Suite struct OlderEndpointTests {
    @Test func olderEndpointsListTheSameChanges() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            for name in ["a", "b"] {
                _ = try await server.modify(.init(.create, Record(recordName: name, recordType: "Plant")), token: token)
            }
            let body = #"{"zoneID":{"zoneName":"Garden"},"resultsLimit":1,"numbersAsStrings":true}"#
            let first = try RecordChangesResponse(
                json: try await server.send("POST", "\(LiveServer.database)/records/changes", token: token, body: Array(body.utf8)).body)
            #expect(first.records.map(\.recordName) == ["a"])
            #expect(first.moreComing)
            let request = RecordChangesRequest(zone: ZoneChangesQuery(zoneID: LiveServer.garden, syncToken: first.syncToken))
            let rest = try RecordChangesResponse(json: try await server.post(.recordChanges, request, token: token).body)
            #expect(rest.records.map(\.recordName) == ["b"])
            #expect(!rest.moreComing)
            let backwards = RecordChangesRequest(zone: ZoneChangesQuery(zoneID: LiveServer.garden, reverse: true))
            let newestFirst = try RecordChangesResponse(json: try await server.post(.recordChanges, backwards, token: token).body)
            #expect(newestFirst.records.map(\.recordName) == ["b", "a"])
            #expect(newestFirst.reverse)
            let inDefault = RecordChangesRequest(zone: ZoneChangesQuery(zoneID: .defaultZone))
            let refused = try await server.post(.recordChanges, inDefault, token: token)
            #expect(refused.status == 400)
            #expect(refused.error?.reason == "cannot get changes in default zone")

            let zones = try ChangedZonesResponse(json: try await server.post(.changedZones, ChangedZonesRequest(), token: token).body)
            #expect(zones.zones.map(\.zoneID.zoneName) == ["Garden"])
            let later = ChangedZonesRequest(metaSyncToken: zones.metaSyncToken)
            let none = try ChangedZonesResponse(json: try await server.post(.changedZones, later, token: token).body)
            #expect(none.zones.isEmpty)
            #expect(!none.moreComing)
            let ignored = #"{"syncToken":"0000"}"#
            let answer = try await server.send("POST", "\(LiveServer.database)/zones/changes", token: token, body: Array(ignored.utf8))
            #expect(answer.status == 200, "a syncToken is passed over")
        }
    }

    @Test func anAssetIsRereferencedWithoutAnUpload() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let upload = AssetUploadRequest(
                items: [.init(recordType: "Plant", recordName: "a", fieldName: "photo")], zoneID: LiveServer.garden)
            let places = try AssetUploadResponse(json: try await server.post(.uploadAssets, upload, token: token).body)
            guard case .address(let place) = places.results[0] else {
                Issue.record("expected an address")
                return
            }
            let receipt = try AssetUploadReceipt(json: try await server.send("POST", place.url, token: nil, body: [1, 2, 3]).body)
            let first = Record(
                recordName: "a", recordType: "Plant", fields: ["photo": Field(.asset(receipt.asset)), "n": Field(.int64(1))])
            _ = try await server.modify(.init(.create, first), token: token)

            let request = RereferenceAssetsRequest(
                zoneID: LiveServer.garden,
                assets: [
                    .init(recordName: "a", fieldName: "photo"), .init(recordName: "a", fieldName: "n"),
                    .init(recordName: "x", fieldName: "photo"),
                ])
            let results = try RereferenceAssetsResponse(json: try await server.post(.rereferenceAssets, request, token: token).body).assets
            guard case .asset(let asset) = results[0], case .failure("a", "n", let noAsset) = results[1],
                case .failure("x", _, let noRecord) = results[2]
            else {
                Issue.record("expected one asset and two failures")
                return
            }
            #expect(noAsset.code == .notFound)
            #expect(noRecord.code == .notFound)
            #expect(asset.size == 3)
            _ = try await server.modify(.init(.forceDelete, first), token: token)
            try await server.removeExpired(afterSeconds: 3600)
            let several = Record(
                recordName: "c", recordType: "Plant", fields: ["photos": Field(.list([.asset(asset), .asset(asset)], of: .asset))])
            _ = try await server.modify(.init(.create, several), token: token)
            let lists = RereferenceAssetsRequest(zoneID: LiveServer.garden, assets: [.init(recordName: "c", fieldName: "photos")])
            let found = try RereferenceAssetsResponse(json: try await server.post(.rereferenceAssets, lists, token: token).body).assets
            guard case .list(let photos)? = found.first, photos.count == 2 else {
                Issue.record("expected two assets")
                return
            }
            #expect(photos.allSatisfy { $0.receipt != nil && $0.size == 3 })
            let second = Record(recordName: "b", recordType: "Plant", fields: ["photo": Field(.asset(asset))])
            let saved = try ModifyRecordsResponse(json: try await server.modify(.init(.create, second), token: token).body)
            guard case .record(let record) = saved.results[0], case .asset(let stored) = record.fields["photo"]?.value else {
                Issue.record("expected the record")
                return
            }
            #expect(try await server.send("GET", try #require(stored.downloadURL), token: nil).body == [1, 2, 3])
        }
    }
}
