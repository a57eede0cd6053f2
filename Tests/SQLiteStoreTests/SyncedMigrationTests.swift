// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore
import Testing

/// Migrations of a store whose rows other devices have, too.
@Suite struct SyncedMigrationTests {
    /// Opens a store with one version of the model after the other, and returns the names of the author's columns.
    private func columns(
        _ first: (inout Model) -> Void, between: (URL) throws -> Void = { _ in }, _ second: (inout Model) -> Void
    ) throws -> [String] {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            try load(url, version: 1, first)
            try between(url)
            try load(url, version: 2) { model in
                second(&model)
                model.entities[3].attributes.append(Attribute(name: "motto", type: .string))
            }
            return try Library.rows("SELECT name FROM pragma_table_info('ZAUTHOR') ORDER BY name", on: url)
        }
    }

    private func load(_ url: URL, version: UInt8, _ change: (inout Model) -> Void) throws {
        var options = Library.options(version: version)
        options.isSynced = true
        try Library.store(url, model: try Library.model(change), options: options).close()
    }

    private static let migrated = ["ZBORN", "ZMOTTO", "ZNAME", "Z_ENT", "Z_OPT", "Z_PK"]

    /// The name on the server of `Book.title`.
    private static func headline(_ model: inout Model) { model.entities[2].attributes[0].userInfo["syncName"] = "headline" }

    private static func requiredFlag(_ model: inout Model) {
        model.entities[2].attributes[3].isOptional = false
        model.entities[2].attributes[3].defaultValue = .int(0)
    }

    private static func retiredFlag(_ model: inout Model) {
        model.entities[2].attributes.remove(at: 3)
        model.entities[2].userInfo["syncRetired"] = "isOpen"
    }

    @Test func aDeclaredNameOnTheServerOutlivesAMigration() throws {
        #expect(try columns(Self.headline, Self.headline) == Self.migrated)
    }

    @Test func aNameOnTheServerThatIsGivenUpIsRejected() throws {
        let error = #expect(throws: StoreError.self) { _ = try columns(Self.headline, { _ in }) }
        #expect(error?.code == .modelOfOthers)
        #expect(error?.detail.hasSuffix("Book.title is 'title' on the server now, where it was 'headline'") == true)
    }

    /// Objects without the attribute are complete on devices with the first version.
    @Test func aRequiredAttributeWithADefaultValueIsRetired() throws {
        #expect(try columns(Self.requiredFlag, Self.retiredFlag) == Self.migrated)
    }

    @Test func aRequiredAttributeWithoutADefaultValueIsNotRetired() throws {
        let error = #expect(throws: StoreError.self) {
            _ = try columns({ $0.entities[2].attributes[3].isOptional = false }, Self.retiredFlag)
        }
        #expect(error?.detail.hasSuffix("Book.isOpen was retired, and earlier versions require it") == true)
    }

    /// The error of a store with records under another name asks for it: the version of the model stays the same.
    @Test func aNameOnTheServerThatCameLaterIsTheNextVersionsName() throws {
        func renamed(_ model: inout Model) { model.entities[2].attributes[0].renamingIdentifier = "heading" }
        func corrected(_ model: inout Model) {
            renamed(&model)
            model.entities[2].attributes[0].userInfo["syncName"] = "title"
        }
        let names = try columns(renamed, between: { try load($0, version: 1, corrected) }, corrected)
        #expect(names == Self.migrated)
    }

    /// They recorded neither names on the server nor default values.
    @Test func aStoreOfAnEarlierReleaseIsMigrated() throws {
        func first(_ model: inout Model) {
            Self.headline(&model)
            Self.requiredFlag(&model)
        }
        func second(_ model: inout Model) {
            Self.headline(&model)
            Self.retiredFlag(&model)
        }
        let names = try columns(
            first, between: { try Library.execute("DELETE FROM TARNSTORE_MODEL WHERE VERSION = 2", on: $0) }, second)
        #expect(names == Self.migrated)
    }

    /// The first version has a transient attribute with values of another type, and a derived one.
    @Test func transientAndDerivedAttributesChange() throws {
        func first(_ model: inout Model) {
            var cache = Attribute(name: "cache", type: .integer16)
            cache.isTransient = true
            var folded = Attribute(name: "folded", type: .string)
            folded.derivationExpression = "lowercase:(title)"
            model.entities[2].attributes += [cache, folded]
        }
        func second(_ model: inout Model) { model.entities[2].attributes.append(Attribute(name: "cache", type: .string)) }
        #expect(try columns(first, second) == Self.migrated)
    }
}
