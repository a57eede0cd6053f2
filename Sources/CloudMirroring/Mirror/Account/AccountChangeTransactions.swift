// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import MirroringCore
import SQLiteStore

/// The log of account changes, and the app's decision about the pending one.
struct AccountChangeTransactions: FileTransactions {
    let file: MirrorFile

    /// Stores a change in the transaction that makes it.
    func note(_ change: AccountChange, _ writer: StoreWriter) throws {
        var log = try log(writer)
        log.append(change)
        try StateTable.set(.accountChanges, .blob(try JSONEncoder().encode(log)), writer)
    }

    /// Removes a change that is pending for the app's decision.
    func forgetUnresolved(_ writer: StoreWriter) throws {
        var log = try log(writer)
        guard log.changes.last?.outcome == .unresolved else { return }
        log.removeUnresolved()
        try StateTable.set(.accountChanges, .blob(try JSONEncoder().encode(log)), writer)
    }

    /// Changes that the app has not acknowledged, oldest first.
    func all() throws -> [AccountChange] { try store.read { try log($0).changes } }

    /// The changes as they are stored; nil if there are none.
    func encodedLog() throws -> [UInt8]? { try store.read { try StateTable.blob(.accountChanges, $0) } }

    func acknowledge() throws { try store.write { try StateTable.set(.accountChanges, .null, $0) } }

    /// Stores the app's decision about the pending change.
    ///
    /// - Returns: false if no change is pending.
    func resolve(_ choice: AccountRules.Choice) throws -> Bool {
        try store.write { writer in
            guard let change = try log(writer).changes.last, change.outcome == .unresolved else { return false }
            let answer = AccountRules.Answer(choice, for: change.present)
            try StateTable.set(.accountAnswer, .blob(try JSONEncoder().encode(answer)), writer)
            return true
        }
    }

    /// A decision of a later version that cannot be decoded counts as none.
    func answer(_ reader: StoreReader) throws -> AccountRules.Answer? {
        guard let stored = try StateTable.blob(.accountAnswer, reader) else { return nil }
        return try? JSONDecoder().decode(AccountRules.Answer.self, from: Data(stored))
    }

    /// A log that cannot be decoded was written by a later version, and counts as empty.
    func log(_ reader: StoreReader) throws -> AccountChangeLog {
        guard let stored = try StateTable.blob(.accountChanges, reader) else { return AccountChangeLog() }
        return (try? JSONDecoder().decode(AccountChangeLog.self, from: Data(stored))) ?? AccountChangeLog()
    }
}
