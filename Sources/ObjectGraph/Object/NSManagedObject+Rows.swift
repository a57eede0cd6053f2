// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

// Between an object and its row: filling, merging, faulting.

extension NSManagedObject {
    /// Puts a row's values at hand. The object stays a fault until somebody reads.
    final func take(_ row: Row) {
        values = row.values
        version = row.version
        flags.insert(.hasRow)
    }

    /// The values are being read: the object stops being a fault.
    final func fire() {
        flags.remove(.fault)
        awakeFromFetch()
    }

    /// What the store holds changed: unsaved changes stay on top of the new values.
    final func merge(_ row: Row) {
        for index in toMany.indices { toMany[index].fault() }
        guard let committed, !isFault else {
            take(row)
            return
        }
        var merged = row.values
        for slot in values.indices where values[slot] != committed[slot] { merged[slot] = values[slot] }
        self.committed = row.values
        values = merged
        version = row.version
    }

    /// Back to what was last fetched or saved.
    final func revert() {
        if let committed { values = committed }
        committed = nil
        for index in toMany.indices { toMany[index].rollback() }
        flags.subtract([.updated, .deleted, .propagated, .unannounced])
    }

    final func turnIntoFault() {
        guard !isFault else { return }
        willTurnIntoFault()
        flags.insert(.fault)
        flags.remove(.hasRow)
        for index in toMany.indices { toMany[index].fault() }
        didTurnIntoFault()
    }

    /// The save went through: what is here is what the store holds.
    final func didCommit(version: Int64) {
        self.version = version
        for index in toMany.indices { toMany[index].commit() }
        committed = nil
        flags.subtract([.inserted, .updated, .unannounced])
    }
}
