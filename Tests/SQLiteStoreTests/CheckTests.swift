// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import SQLiteStore
import Testing

@Suite struct CheckTests {
    @Test func randomSavesKeepEveryInvariantAndAreInHistory() throws {
        let model = try Library.model()
        let store = try Library.store(model: model)
        var random = SeededRandom(seed: 11)
        // History replayed over the former state of each row.
        var versions: [RowKey: Int64] = [:]
        for _ in 0..<60 {
            try store.write { writer in
                var changes = StoreChanges()
                for name in ["Author", "Book", "Comic", "Tag"] {
                    for key in try writer.allocateKeys(
                        for: model.index(name), count: Int.random(in: 0...2, using: &random))
                    {
                        changes.inserts.append(Row(key: key, version: 1, values: model.values(name, [:])))
                    }
                }
                let known = versions.keys.sorted { ($0.entity, $0.primaryKey) < ($1.entity, $1.primaryKey) }
                let gone = Set(known.filter { _ in Int.random(in: 0..<9, using: &random) == 0 })
                let authors = known.filter { $0.entityIndex == model.index("Author") && !gone.contains($0) }
                let books = known.filter {
                    model.entities[$0.entityIndex].root == model.index("Book") && !gone.contains($0)
                }
                let tags = known.filter { $0.entityIndex == model.index("Tag") && !gone.contains($0) }
                try writer.nullifyReferences(to: Array(gone))
                for book in books {
                    guard let row = try writer.row(book), Bool.random(using: &random) else { continue }
                    var values = row.values
                    values[model.slot("Book", "author")] =
                        authors.randomElement(using: &random).map { .reference($0) } ?? .null
                    changes.updates.append(
                        RowUpdate(
                            key: book, expectedVersion: row.version, values: values,
                            changedSlots: [model.slot("Book", "author")]))
                    if let tag = tags.randomElement(using: &random) {
                        changes.links.append(
                            LinkChange(
                                owner: book, relationship: model.toMany("Book", "tags"), destination: tag,
                                isAddition: Bool.random(using: &random)))
                    }
                }
                changes.deletes = known.filter(gone.contains).map { RowDelete(key: $0, expectedVersion: nil) }
                let before = try writer.latestTransaction()
                try writer.apply(changes)
                for change in try writer.history(after: before).flatMap(\.changes) {
                    switch change.kind {
                    case .insert: #expect(versions.updateValue(1, forKey: change.key) == nil)
                    case .update: versions[change.key, default: 0] += 1
                    case .delete: #expect(versions.removeValue(forKey: change.key) != nil)
                    }
                }
            }
            #expect(try store.read { try $0.problems() } == [])
        }
        let rows = try store.read { try $0.rows(Array(versions.keys)) }
        #expect(rows.count == versions.count)
        let stored = try ["Author", "Book", "Tag"].map { name in
            try store.read { try $0.count(StoreQuery(entity: model.index(name))) }
        }
        #expect(stored.reduce(0, +) == versions.count)
        #expect(versions.count > 20)
    }

    @Test func brokenInvariantsAreReported() throws {
        let model = try Library.model()
        let store = try Library.store(model: model)
        try store.insert(model, "Book", [:])
        try store.write { writer in
            for statement in [
                "UPDATE ZBOOK SET ZAUTHOR = 9", "INSERT INTO Z_2TAGS VALUES (1, 5)",
                "INSERT INTO ZTAG (Z_PK, Z_ENT) VALUES (3, 1)",
                "DELETE FROM ATRANSACTION",
            ] { try writer.execute(statement) }
        }
        #expect(
            try store.read { try $0.problems() } == [
                "1 dangling values of Book.author", "1 rows of ZTAG with an unknown entity",
                "1 rows of ZTAG with keys that were not given out", "1 dangling pairs in Z_2TAGS.Z_4TAGS",
                "1 changes without a transaction",
            ])
    }
}
