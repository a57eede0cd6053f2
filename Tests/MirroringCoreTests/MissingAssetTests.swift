// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing
import ValueSimulation

/// Assets that the server lost: their values are quarantined, and everything else is imported.
@Suite struct MissingAssetTests {
    // MARK: Decisions

    @Test func quarantinedValuesAreRetriedAtLaunchAndOnceADay() {
        let seconds: [Double?] = [nil, 0, 86_399, 86_400, -1]
        #expect(seconds.map { RetryPolicy.retriesQuarantined(secondsSinceLast: $0) } == [true, false, false, true, true])
    }

    @Test func anAssetThatItsRecordNoLongerHasIsReplaced() {
        func asset(_ checksum: String, _ url: String?) -> AssetValue { AssetValue(fileChecksum: checksum, size: 1, downloadURL: url) }
        func need(_ checksum: String, of name: String) -> ImportNeeds.AssetNeed {
            ImportNeeds.AssetNeed(asset: asset(checksum, "old"), recordName: name, field: "CD_a_ckAsset", isEncrypted: false)
        }
        let needs = [need("1", of: "a"), need("2", of: "b"), need("3", of: "c")]
        let records = [
            Record(recordName: "a", recordType: "CD_Post", fields: ["CD_a_ckAsset": Field(.asset(asset("1", "new")))]),
            Record(recordName: "b", recordType: "CD_Post", fields: ["CD_a_ckAsset": Field(.asset(asset("9", "new")))]),
        ]
        let (present, replaced) = ImportNeeds.AssetNeed.addressed(needs, by: records)
        #expect(present.map(\.asset.downloadURL) == ["new"])
        #expect(present.map(\.recordName) == ["a"])
        #expect(replaced.map(\.recordName) == ["b", "c"])
    }

    @Test func decryptedContentIsThatOfOneField() {
        func need(_ name: String, _ field: String, _ isEncrypted: Bool, _ checksum: String = "C") -> ImportNeeds.AssetNeed {
            ImportNeeds.AssetNeed(
                asset: AssetValue(fileChecksum: checksum, size: 1, downloadURL: name), recordName: name, field: field,
                isEncrypted: isEncrypted)
        }
        let plain = need("a", "f", false), secret = need("a", "f", true)
        #expect(plain.contentKey == need("b", "g", false).contentKey)
        // The checksum is a text of the server.
        let others = [
            plain, need("b", "f", true), need("a", "g", true), need("b", "g", false, secret.contentKey.fileChecksum),
            need("a f", "f", true), need("a", "f", true, "f C"),
        ]
        #expect(Set((others + [secret]).map(\.contentKey)).count == others.count + 1)

        var details = ImportNeeds.Details()
        details.assets = [plain, need("b", "g", false), need("c", "f", true, "D")]
        #expect(details.reusedAssets.isEmpty)
        details.assets.append(secret)
        let reused = Set([
            UnreadableAsset(recordName: "a", field: "f", reason: .missingAsset),
            UnreadableAsset(recordName: "b", field: "g", reason: .missingAsset),
            UnreadableAsset(recordName: "a", field: "f", reason: .damaged),
        ])
        #expect(Set(details.reusedAssets) == reused)
    }

    // MARK: Import and export

    private static let long = String(repeating: "x", count: 800_000)
    private static let longer = String(repeating: "y", count: 800_001)

    private func key(_ title: String, _ replica: Replica) -> RowKey? {
        replica.keys(of: "Post").first { replica.value("title", of: $0) == .string(title) }
    }

    private func content(_ title: String, _ replica: Replica) -> StoredValue? {
        key(title, replica).flatMap { replica.value("content", of: $0) }
    }

    private func record(_ title: String, _ server: ServerModel) -> Record? {
        server.records.values.first { $0.fields["CD_title"]?.value == .string(title) }
    }

    /// Imports all records again, as a retry of quarantined values does.
    private func retry(_ replica: inout Replica, _ server: ServerModel) throws {
        let token = try #require(replica.token)
        let records = server.records.values.sorted { $0.recordName < $1.recordName }
        replica.apply(ImportPage(records: records, deletions: [], askedWith: token, token: token, moreComing: false), from: server)
    }

    /// Exports, and returns `true` if that changed nothing on the server.
    private func sendsNothing(_ replica: inout Replica, _ server: inout ServerModel) -> Bool {
        let before = server.records
        replica.export(to: &server)
        return server.records == before
    }

    @Test func theRestArrivesAndTheValueOnceItsAssetIsBack() throws {
        var server = ServerModel()
        var maker = Replica("A"), reader = Replica("B")
        maker.insert("Post", ["title": .string("a"), "content": .string(Self.long)])
        maker.insert("Post", ["title": .string("b")])
        maker.export(to: &server)
        server.hasLostAssets = true
        reader.importAll(from: server)
        #expect(key("b", reader) != nil)
        #expect(content("a", reader) == .null)
        #expect(sendsNothing(&reader, &server))
        // An edit of another attribute leaves the asset alone.
        reader.set("title", of: try #require(key("a", reader)), to: .string("a2"))
        reader.sync(&server)
        #expect(record("a2", server)?.fields["CD_content_ckAsset"]?.value != nil)
        #expect(reader.isIdle)
        try retry(&reader, server)
        #expect(content("a2", reader) == .null)

        server.hasLostAssets = false
        try retry(&reader, server)
        #expect(content("a2", reader) == .string(Self.long))
        #expect(sendsNothing(&reader, &server))
        maker.importAll(from: server)
        #expect(reader.dump == maker.dump)
        #expect(reader.conflicts.isEmpty)
    }

    @Test func theFormerValueStaysAndIsNotSent() throws {
        var server = ServerModel()
        var maker = Replica("A"), reader = Replica("B")
        let post = maker.insert("Post", ["title": .string("a"), "content": .string(Self.long)])
        maker.export(to: &server)
        reader.importAll(from: server)
        maker.set("content", of: post, to: .string(Self.longer))
        maker.set("title", of: post, to: .string("a2"))
        maker.sync(&server)
        server.hasLostAssets = true
        reader.importAll(from: server)
        #expect(content("a2", reader) == .string(Self.long))
        let asset = record("a2", server)?.fields["CD_content_ckAsset"]
        reader.set("title", of: try #require(key("a2", reader)), to: .string("a3"))
        reader.sync(&server)
        let present = record("a3", server)?.fields["CD_content_ckAsset"]
        if case .asset(let one)? = asset?.value, case .asset(let other)? = present?.value {
            #expect(one.fileChecksum == other.fileChecksum)
        } else {
            Issue.record("the record lost its asset")
        }
        server.hasLostAssets = false
        try retry(&reader, server)
        #expect(content("a3", reader) == .string(Self.longer))
        #expect(reader.conflicts.isEmpty)
    }

    @Test func anEditOfTheAttributeReplacesTheMissingAsset() throws {
        var server = ServerModel()
        var maker = Replica("A"), reader = Replica("B")
        maker.insert("Post", ["title": .string("a"), "content": .string(Self.long)])
        maker.export(to: &server)
        server.hasLostAssets = true
        reader.importAll(from: server)
        reader.set("content", of: try #require(key("a", reader)), to: .string("short"))
        reader.sync(&server)
        #expect(record("a", server)?.fields["CD_content"]?.value == .string("short"))
        #expect(record("a", server)?.fields["CD_content_ckAsset"]?.value == nil)
        maker.importAll(from: server)
        #expect(content("a", maker) == .string("short"))
        try retry(&reader, server)
        #expect(content("a", reader) == .string("short"))
        #expect(reader.isIdle)
    }

    @Test func anObjectThatRequiresTheValueIsWithheldUntilItArrives() throws {
        let model = try ResolvedModel(
            Model(entities: [
                Entity(
                    name: "Post",
                    attributes: [
                        Attribute(name: "title", type: .string), Attribute(name: "content", type: .string, isOptional: false),
                    ])
            ]))
        let mapping = RecordMapping(model: model, allowing: [.requiredValues])
        var server = ServerModel()
        var maker = Replica("A", mapping: mapping), reader = Replica("B", mapping: mapping)
        maker.insert("Post", ["title": .string("a"), "content": .string(Self.long)])
        maker.insert("Post", ["title": .string("b"), "content": .string("short")])
        maker.export(to: &server)
        server.hasLostAssets = true
        reader.importAll(from: server)
        #expect(key("a", reader) == nil)
        #expect(key("b", reader) != nil)
        server.hasLostAssets = false
        try retry(&reader, server)
        #expect(content("a", reader) == .string(Self.long))
        #expect(reader.dump == maker.dump)
    }

    /// A hostile server cannot send the field that travels with records on the device.
    @Test func aForgedQuarantineIsTakenOut() {
        var forged = Record(recordName: "a", recordType: "CD_Post", fields: ["CD_title": Field(.string("a"))])
        forged.quarantine("CD_title", .missingAsset)
        #expect(forged.fieldStates.hasQuarantined)
        #expect(forged.withoutFieldStates.fieldStates.isEmpty)
        #expect(forged.withoutFieldStates.fields.isEmpty)
    }
}
