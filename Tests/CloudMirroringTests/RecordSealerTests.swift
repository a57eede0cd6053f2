// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

@testable import CloudMirroring
import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import Testing

/// Encrypted fields of one record, moved to where they do not belong.
@Suite struct RecordSealerTests {
    private static let keys = "tarn-key-1:" + Data(repeating: 7, count: 32).base64EncodedString()
    private static let home = RecordSealer.Place(environment: .development, zone: ZoneID(zoneName: "home"))
    private static let mapping: RecordMapping = {
        do { return RecordMapping(model: try ResolvedModel(EncryptedPosts.model)) } catch {
            preconditionFailure("the model is sound: \(error)")
        }
    }()

    private func sealer(_ keys: String = keys) throws -> RecordSealer {
        RecordSealer(keys: EncryptionKeyRing(try .text(keys), container: "iCloud.n"), container: "iCloud.n")
    }

    private func record(_ fields: [String: Field]) -> Record {
        Record(recordName: "R1", recordType: "CD_Post", fields: fields.merging(["CD_entityName": Field(.string("Post"))]) { one, _ in one })
    }

    private var plain: Record { record(["CD_content": Field(.string("secret"), isEncrypted: true), "CD_title": Field(.string("open"))]) }

    private func opened(_ record: Record, in place: RecordSealer.Place = home) throws -> Record {
        try sealer().opened(record, Self.mapping, in: place)
    }

    @Test func valueOpensWhereItBelongs() throws {
        let sealed = try sealer().sealed(plain, versions: ["CD_content": 5], in: Self.home)
        guard case .bytes(let bytes)? = sealed.fields["CD_content"]?.value else {
            Issue.record("not encrypted")
            return
        }
        #expect(bytes.first == 3)
        #expect(bytes.count == 1 + 8 + 8 + 12 + 7 + 16)
        let opened = try opened(sealed)
        #expect(opened.fields["CD_content"] == plain.fields["CD_content"])
        #expect(opened.fieldStates["CD_content"]?.version == 5)
    }

    @Test func valueOfAnotherPlaceIsDamaged() throws {
        let sealed = try sealer().sealed(plain, versions: ["CD_content": 5], in: Self.home)
        for place in [
            RecordSealer.Place(environment: .production, zone: ZoneID(zoneName: "home")),
            RecordSealer.Place(environment: .development, zone: ZoneID(zoneName: "share")),
        ] {
            let found = try opened(sealed, in: place)
            #expect(found.fields["CD_content"] == nil)
            #expect(found.fieldStates["CD_content"]?.problem == .damaged)
            #expect(found.fields["CD_title"] == plain.fields["CD_title"])
        }
        var moved = record(sealed.fields)
        moved.recordName = "R2"
        #expect(try opened(moved).fieldStates["CD_content"]?.problem == .damaged)
        var exchanged = sealed
        exchanged.fields["CD_photo"] = sealed.fields["CD_content"]
        #expect(try opened(exchanged).fieldStates["CD_photo"]?.problem == .damaged)
    }

    @Test func numberCannotBeChanged() throws {
        let sealed = try sealer().sealed(plain, versions: ["CD_content": 5], in: Self.home)
        guard case .bytes(let bytes)? = sealed.fields["CD_content"]?.value else { return }
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            var record = sealed
            record.fields["CD_content"] = Field(.bytes(changed), isEncrypted: true)
            #expect(try opened(record).fieldStates["CD_content"]?.problem != nil, "byte \(index)")
        }
        for count in [0, 1, 16, 17, bytes.count - 1] {
            var record = sealed
            record.fields["CD_content"] = Field(.bytes(Array(bytes.prefix(count))), isEncrypted: true)
            #expect(try opened(record).fieldStates["CD_content"]?.problem == .damaged)
        }
        var text = sealed
        text.fields["CD_content"] = Field(.string("not encrypted at all"))
        #expect(try opened(text).fieldStates["CD_content"]?.problem == .damaged)
    }

    @Test func missingKeyIsNamed() throws {
        let sealed = try sealer().sealed(plain, versions: ["CD_content": 1], in: Self.home)
        let other = "tarn-key-1:" + Data(repeating: 8, count: 32).base64EncodedString()
        let found = try sealer(other).opened(sealed, Self.mapping, in: Self.home)
        #expect(found.fieldStates["CD_content"]?.problem == .missingKey("11c3b61cb580e6f8"))
    }

    /// The server cannot claim that a value was quarantined, or accepted.
    @Test func fieldOfTheServerWithTheNameOfTheDevicesOwnIsIgnored() throws {
        var sealed = try sealer().sealed(plain, versions: ["CD_content": 5], in: Self.home)
        sealed.fields["ckEncryption"] = Field(.string("CD_content 9 - stale"))
        let found = try opened(sealed).fieldStates
        #expect(found["CD_content"]?.version == 5)
        #expect(found["CD_content"]?.problem == nil)
    }

    @Test func assetIsTheOneThatItsFieldNames() throws {
        let asset = Field(.asset(AssetValue(fileChecksum: "aa", size: 3)))
        let sealed = try sealer().sealed(record(["CD_content_ckAsset": asset]), versions: ["CD_content": 2], in: Self.home)
        let found = try opened(sealed)
        #expect(found.fields["CD_content_ckAsset"] == asset)
        #expect(found.fields["CD_content"] == nil)
        #expect(found.fieldStates["CD_content"]?.problem == nil)
        var exchanged = sealed
        exchanged.fields["CD_content_ckAsset"] = Field(.asset(AssetValue(fileChecksum: "bb", size: 3)))
        let bad = try opened(exchanged)
        #expect(bad.fields["CD_content_ckAsset"] == nil)
        #expect(bad.fieldStates["CD_content"]?.problem == .stale)
        // An asset next to an inline value is not the value.
        var added = try sealer().sealed(
            record(["CD_content": Field(.string(""), isEncrypted: true)]), versions: ["CD_content": 2], in: Self.home)
        added.fields["CD_content_ckAsset"] = asset
        #expect(try opened(added).fields["CD_content_ckAsset"] == nil)
    }

    /// A value that a version before numbers wrote.
    @Test func valueOfTheFirstFormatStillOpens() throws {
        let sample = "ARHDthy1gOb4AAECAwQFBgcICQoLGfabGWl9vCdX0ID6jSoJ2o9J2+x9EASYVTL1ZbuePe0/DAQ00vej"
        let bytes = [UInt8](try #require(Data(base64Encoded: sample)))
        let found = try opened(record(["CD_content": Field(.bytes(bytes), isEncrypted: true)]))
        #expect(found.fields["CD_content"]?.value == .string("written before numbers"))
        #expect(found.fieldStates["CD_content"]?.version == 0)
        #expect(found.fieldStates["CD_content"]?.problem == nil)
    }

    @Test func valuesOfANewerModelAreEncryptedAgainForAnotherZone() throws {
        let share = RecordSealer.Place(environment: .development, zone: ZoneID(zoneName: "share"))
        let newer = record(["CD_mood": Field(.string("new"), isEncrypted: true)])
        let found = try opened(try sealer().sealed(newer, versions: [:], in: Self.home))
        #expect(found.fields["CD_mood"] == newer.fields["CD_mood"])
        let moved = try sealer().sealed(found, versions: [:], in: share)
        #expect(try opened(moved, in: share).fields["CD_mood"] == newer.fields["CD_mood"])
    }

    /// A server chooses the names: one with a line end would be read as the state of another field.
    @Test func valuesOfANewerModelWaitForTheirKey() throws {
        let other = try sealer("tarn-key-1:" + Data(repeating: 8, count: 32).base64EncodedString())
        let forged = "CD_mood 0 -\nCD_content 9 - damaged"
        let newer = record([
            "CD_mood": Field(.string("new"), isEncrypted: true), forged: Field(.string("new"), isEncrypted: true),
        ])
        let found = try opened(try other.sealed(newer, versions: [:], in: Self.home))
        #expect(found.fields["CD_mood"] == nil)
        #expect(found.fieldStates.quarantined.map(\.field) == ["CD_mood"])
        #expect(found.fieldStates.missingKeys.count == 1)
        #expect(found.fieldStates.awaitsValues)
    }
}
