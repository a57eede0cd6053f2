// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import MirroringCore
import SQLiteStore

extension MirrorFile {
    /// Stores a change in the transaction that makes it.
    func note(_ change: AccountChange, _ writer: StoreWriter) throws {
        var log = try Self.log(writer)
        log.append(change)
        try MirrorState.set(.accountChanges, .blob(try JSONEncoder().encode(log)), writer)
    }

    /// Changes that the app has not acknowledged, oldest first.
    func accountChanges() throws -> [AccountChange] { try store.read { try Self.log($0).changes } }

    func acknowledgeAccountChanges() throws { try store.write { try MirrorState.set(.accountChanges, .null, $0) } }

    /// The user whose data the store holds, as the server named them last.
    func user() throws -> String? { try store.read { try MirrorState.text(.user, $0) } }

    /// A log that cannot be decoded was written by a later version, and counts as empty.
    private static func log(_ reader: StoreReader) throws -> AccountChangeLog {
        guard let stored = try MirrorState.blob(.accountChanges, reader) else { return AccountChangeLog() }
        return (try? JSONDecoder().decode(AccountChangeLog.self, from: Data(stored))) ?? AccountChangeLog()
    }
}
