// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import SQLiteStore

extension MirrorFile {
    func begin(_ event: EventTable.Row) throws { try store.write { try EventTable.insert(event, $0) } }

    func end(_ event: EventTable.Row) throws { try store.write { try EventTable.end(event, $0) } }

    /// Prepares the file for a new process. Called once in each launch.
    func begin() throws {
        try store.write { writer in
            try SyncMetadataSchema.open(writer, home: homeZone)
            try EventTable.endAll(at: now, writer)
            try forgiveRefusals(writer)
            try OutboxTable.doubtAll(writer)
        }
    }
}
