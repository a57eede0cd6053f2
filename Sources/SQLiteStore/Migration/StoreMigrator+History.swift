// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

// References to entities outside of their tables: the list of entities, and the history.

extension StoreMigrator {
    func rewriteEntityList() throws(StoreError) {
        let removedNumbers = plan.removed.map { plan.oldEntity($0).number }
        if !removedNumbers.isEmpty { try connection.execute("DELETE FROM Z_PRIMARYKEY WHERE Z_ENT IN (\(list(removedNumbers)))") }
        for case let entity? in layout.entities {
            let parent = plan.model.entities[entity.index].superentity.flatMap { layout.entities[$0]?.number } ?? 0
            let maximum = entity.root == entity.index ? plan.maxima[entity.index] ?? 0 : 0
            try connection.execute(
                "UPDATE Z_PRIMARYKEY SET Z_NAME = ?, Z_SUPER = ?, Z_MAX = ? WHERE Z_ENT = ?",
                [.text(entity.name), .int(parent), .int(maximum), .int(entity.number)])
        }
    }

    /// Changes identify rows by key and properties by alphabetical position; both may have changed. Changes of removed
    /// entities are deleted, since they cannot be interpreted any more.
    func rewriteHistory() throws(StoreError) {
        let removedNumbers = plan.removed.map { plan.oldEntity($0).number }
        if !removedNumbers.isEmpty { try connection.execute("DELETE FROM ACHANGE WHERE ZENTITY IN (\(list(removedNumbers)))") }
        for (index, originIndex) in plan.origins.sorted(by: { $0.key < $1.key }) {
            guard let entity = layout.entities[index] else { continue }
            let origin = plan.oldEntity(originIndex)
            if let offset = plan.offset(originIndex, to: index), offset != 0 {
                try connection.execute("UPDATE ACHANGE SET ZENTITYPK = ZENTITYPK + \(offset) WHERE ZENTITY = \(entity.number)")
            }
            try rewriteColumns(entity, origin)
            try rewriteTombstones(entity, origin)
        }
    }

    /// Names of an entity's stored properties: old to new.
    private func successors(_ entity: StoredEntity, _ origin: StoredEntity) -> [String: String] {
        let (new, old) = (plan.model.entities[entity.index], plan.old.model.entities[origin.index])
        func name(_ location: PropertyLocation) -> String {
            switch location {
            case .slot(let slot): old.slots[slot].name
            case .toMany(let index): old.toMany[index].name
            }
        }
        guard let origins = plan.properties[entity.index] else { return [:] }
        let slots = zip(new.slots.map(\.name), origins.slots)
        let toMany = zip(new.toMany.map(\.name), origins.toMany)
        return Dictionary(keepingFirst: (Array(slots) + Array(toMany)).compactMap { new, place in place.map { (name($0), new) } })
    }

    private func rewriteColumns(_ entity: StoredEntity, _ origin: StoredEntity) throws(StoreError) {
        let successors = successors(entity, origin)
        let bits = origin.historyProperties.map { name in successors[name].flatMap { entity.historyProperties.firstIndex(of: $0) } }
        if origin.historyProperties.count == entity.historyProperties.count, bits == Array(bits.indices) { return }
        var bitmaps: [Data] = []
        do {
            try connection.query(
                "SELECT DISTINCT ZCOLUMNS FROM ACHANGE WHERE ZENTITY = ? AND ZCOLUMNS IS NOT NULL", [.int(entity.number)]
            ) { row in if let bitmap = row.blob(0) { bitmaps.append(bitmap) } }
        } catch { throw StoreError(error) }
        if bitmaps.isEmpty { return }
        try connection.execute("CREATE TABLE IF NOT EXISTS temp.TARN_BITMAPS (old BLOB PRIMARY KEY, new BLOB)")
        try connection.execute("DELETE FROM temp.TARN_BITMAPS")
        for bitmap in bitmaps {
            let old = ChangedColumns(bitmap: bitmap)
            var new = ChangedColumns(propertyCount: entity.historyProperties.count)
            for (bit, successor) in bits.enumerated() where old.contains(bit) { if let successor { new.insert(successor) } }
            try connection.execute("INSERT INTO temp.TARN_BITMAPS VALUES (?, ?)", [.blob(bitmap), .blob(new.bitmap)])
        }
        try connection.execute(
            """
            UPDATE ACHANGE SET ZCOLUMNS = (SELECT new FROM temp.TARN_BITMAPS WHERE old = ZCOLUMNS) \
            WHERE ZENTITY = ? AND ZCOLUMNS IS NOT NULL
            """, [.int(entity.number)])
        try connection.execute("DROP TABLE temp.TARN_BITMAPS")
    }

    private func rewriteTombstones(_ entity: StoredEntity, _ origin: StoredEntity) throws(StoreError) {
        let successors = successors(entity, origin)
        func names(_ entity: StoredEntity, _ model: ResolvedModel) -> [String] {
            entity.tombstoneSlots.map { model.entities[entity.index].slots[$0].name }
        }
        let (formerNames, now) = (names(origin, plan.old.model).map { successors[$0] }, names(entity, plan.model))
        if formerNames == now.map(Optional.some) { return }
        let count = max(formerNames.count, now.count)
        let present = try connection.columnNames(of: "ACHANGE")
        let values = (0..<count).filter { present.contains("ZTOMBSTONE\($0)") }.map { place in
            let source = place < now.count ? formerNames.firstIndex(of: now[place]) : nil
            return "ZTOMBSTONE\(place) = \(source.map { "ZTOMBSTONE\($0)" } ?? "NULL")"
        }
        if values.isEmpty { return }
        try connection.execute(
            "UPDATE ACHANGE SET \(values.joined(separator: ", ")) WHERE ZENTITY = \(entity.number) AND ZCHANGETYPE = \(HistoryChange.Kind.delete.rawValue)"
        )
    }
}
