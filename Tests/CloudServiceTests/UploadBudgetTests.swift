// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import ServiceFixtures
import TestBasics
import Testing

/// Uploads and receipts of an account that no limit of a private database counts.
@Suite struct UploadBudgetTests {
    /// Uploads in databases of others, and receipts for assets, are rows that no quota counts.
    @Test func uploadsOfAnAccountInAMinuteAreLimited() async throws {
        var limits = Limits()
        limits.openUploads = 5
        let village = try Village(limits: limits)
        let (mia, bo) = (try await village.villager("mia"), try await village.villager("bo"))
        func begin(_ count: Int, _ who: Village.Villager) async -> Int {
            let item = AssetUploadRequest.Item(recordType: "Plant", recordName: nil, fieldName: "photo")
            return await who.send(.public, .uploadAssets, AssetUploadRequest(items: Array(repeating: item, count: count)).encoded()).status
        }
        func rereference(_ count: Int, _ who: Village.Villager) async -> Int {
            let item = RereferenceAssetsRequest.Item(recordName: "a", fieldName: "photo")
            let request = RereferenceAssetsRequest(zoneID: who.zone(), assets: Array(repeating: item, count: count))
            return await who.send(.private, .rereferenceAssets, request.encoded()).status
        }
        #expect(await begin(3, mia) == 200)
        #expect(await begin(3, mia) == 429)
        #expect(await begin(3, bo) == 200, "each account has a budget of its own")
        #expect(await rereference(2, bo) == 200)
        #expect(await rereference(1, bo) == 429)
        // Three uploads need one that comes into the budget in 12 s. Refused requests take none.
        for _ in 0..<3 {
            village.clock.advance(seconds: 3)
            #expect(await begin(3, mia) == 429)
        }
        village.clock.advance(seconds: 3)
        #expect(await begin(3, mia) == 200)
    }

    /// A field has a list of assets, so that a request for one field makes many rows.
    @Test func receiptsForAListAreLimited() async throws {
        var limits = Limits()
        limits.openUploads = 10
        let village = try Village(limits: limits)
        let mia = try await village.villager("mia")
        var photos: [FieldValue] = []
        for byte in 0..<6 {
            let response: AssetUploadResponse = try await mia.ask(
                .private, .uploadAssets,
                AssetUploadRequest(items: [.init(recordType: "Plant", recordName: "p", fieldName: "photos")]))
            guard case .address(let address)? = response.results.first else { throw WireError(.internalError, "no address") }
            let answer = await village.service.respond(
                to: ServiceRequest(
                    method: "POST", path: String(address.url.dropFirst("http://tarn.example".count)), headers: [:],
                    body: .bytes([UInt8(byte)]), baseURL: "http://tarn.example"))
            guard case .bytes(let bytes) = answer.body else { throw WireError(.internalError, "no receipt") }
            photos.append(.asset(try AssetUploadReceipt(json: bytes).asset))
        }
        let record = Record(recordName: "p", recordType: "Plant", fields: ["photos": Field(.list(photos, of: .asset))])
        let saved: ModifyRecordsResponse = try await mia.ask(
            .private, .modifyRecords, ModifyRecordsRequest(operations: [.init(.create, record)]))
        #expect(saved.results.count == 1)
        let request = RereferenceAssetsRequest(assets: [.init(recordName: "p", fieldName: "photos")]).encoded()
        // They leave 4 and -2 in the budget.
        #expect(await mia.send(.private, .rereferenceAssets, request).status == 200)
        #expect(await mia.send(.private, .rereferenceAssets, request).status == 200)
        #expect(await mia.send(.private, .rereferenceAssets, request).status == 429)
        village.clock.advance(seconds: 12)
        #expect(await mia.send(.private, .rereferenceAssets, request).status == 429)
        village.clock.advance(seconds: 6)
        #expect(await mia.send(.private, .rereferenceAssets, request).status == 200)
    }
}
