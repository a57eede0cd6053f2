// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import SQLiteStore

/// Events of the sync of a store, and its last success.
struct EventTransactions: FileTransactions {
    let file: MirrorFile

    func begin(_ event: EventTable.Row) throws { try store.write { try EventTable.insert(event, $0) } }

    func end(_ event: EventTable.Row) throws { try store.write { try EventTable.end(event, $0) } }

    func remember(success: Date) throws {
        try store.write { try StateTable.set(.lastSuccess, .double(success.timeIntervalSinceReferenceDate), $0) }
    }
}
