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

    /// Forgets a change that waits for the app's decision.
    func forgetUnresolved(_ writer: StoreWriter) throws {
        var log = try Self.log(writer)
        guard log.changes.last?.outcome == .unresolved else { return }
        log.removeUnresolved()
        try MirrorState.set(.accountChanges, .blob(try JSONEncoder().encode(log)), writer)
    }

    /// Changes that the app has not acknowledged, oldest first.
    func accountChanges() throws -> [AccountChange] { try store.read { try Self.log($0).changes } }

    /// The changes as they are stored; nil if there are none.
    func accountChangeLog() throws -> [UInt8]? { try store.read { try MirrorState.blob(.accountChanges, $0) } }

    func acknowledgeAccountChanges() throws { try store.write { try MirrorState.set(.accountChanges, .null, $0) } }

    /// Stores what the app decided about the change that waits for it.
    ///
    /// - Returns: false if none waits.
    func resolve(_ choice: AccountRules.Choice) throws -> Bool {
        try store.write { writer in
            guard let change = try Self.log(writer).changes.last, change.outcome == .unresolved else { return false }
            let answer = AccountRules.Answer(choice, for: change.present)
            try MirrorState.set(.accountAnswer, .blob(try JSONEncoder().encode(answer)), writer)
            return true
        }
    }

    /// What a later version wrote, and this one cannot decode, counts as no decision.
    func accountAnswer(_ reader: StoreReader) throws -> AccountRules.Answer? {
        guard let stored = try MirrorState.blob(.accountAnswer, reader) else { return nil }
        return try? JSONDecoder().decode(AccountRules.Answer.self, from: Data(stored))
    }

    /// A log that cannot be decoded was written by a later version, and counts as empty.
    private static func log(_ reader: StoreReader) throws -> AccountChangeLog {
        guard let stored = try MirrorState.blob(.accountChanges, reader) else { return AccountChangeLog() }
        return (try? JSONDecoder().decode(AccountChangeLog.self, from: Data(stored))) ?? AccountChangeLog()
    }
}
