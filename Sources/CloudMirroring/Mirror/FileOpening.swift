// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import SQLiteStore

/// The transactions at the beginning of a launch of sync.
struct FileOpening: FileTransactions {
    let file: MirrorFile

    /// Prepares the file for a new process. Called once in each launch.
    func begin() throws {
        try store.write { writer in
            try SyncMetadataSchema.open(writer, home: homeZone)
            try EventTable.endAll(at: now, writer)
            try file.exports.forgiveRefusals(writer)
            try OutboxTable.doubtAll(writer)
        }
    }

    struct Memory: Sendable {
        var signIn = SignIn()
        /// The app's decision about an account change.
        var answer: AccountRules.Answer?
        var token: String?
        var lastSuccess: Date?
        /// The user's permissions in the public database; nil without a response that has them.
        var permissions: [TypePermissions]?
    }

    /// Creates the tables, and handles a change of the model.
    ///
    /// - Throws: `CloudFailure` with `.badContainer` for a store that belongs to another container, or that was synced under other names.
    func open() throws -> Memory {
        try store.write { writer in
            try SyncMetadataSchema.open(writer, home: homeZone)
            if let known = try StateTable.text(.container, writer), known != file.containerIdentifier {
                throw CloudFailure(
                    .badContainer,
                    "this store was synced with the container \(known) and cannot be synced with \(file.containerIdentifier); use another file"
                )
            }
            try StateTable.set(.container, .text(file.containerIdentifier), writer)
            let fingerprint = try StateTable.text(.fingerprint, writer)
            try checkNames(wasSynced: fingerprint != nil, writer)
            try file.lensValues.fill(writer)
            if fingerprint != mapping.fingerprint {
                // Lists may have members without position keys: a scan of all rows adds them.
                if fingerprint != nil, mapping.hasOrder { try StateTable.set(.historyRead, .null, writer) }
                // Records may have fields that only this version of the model has.
                if fingerprint != nil {
                    for row in try ZoneTable.all(writer) { try ZoneTable.beginFullFetch(row.zone.number, expectsHistory: true, writer) }
                }
                // Flags are not maintained while a model has no unique values.
                if mapping.hasUniqueness {
                    for row in try ZoneTable.all(writer) { try RedirectTable.findReferences(in: row.zone.number, writer) }
                }
                try StateTable.set(.fingerprint, .text(mapping.fingerprint), writer)
            }
            try file.withheldRecords.fetchAgain(writer)
            try file.stagedPages.removeUnneededFiles(writer)
            return Memory(
                signIn: try file.account.signIn(writer), answer: try file.accountChanges.answer(writer),
                token: try ZoneTable.row(MirrorZone.home, writer)?.token,
                lastSuccess: try StateTable.double(.lastSuccess, writer).map { Date(timeIntervalSinceReferenceDate: $0) },
                permissions: try StateTable.blob(.permissions, writer).flatMap { try CallerIdentity(json: $0).permissions })
        }
    }

    /// Compares the names on the server with those that the store was synced with.
    private func checkNames(wasSynced: Bool, _ writer: StoreWriter) throws {
        let names = ServerNames(mapping)
        let stored = try StateTable.text(.serverNames, writer)
        if stored == names.text { return }
        var loss = stored.flatMap { ServerNames(text: $0).losses(to: names).first }
        if stored == nil, wasSynced, mapping.hasRenamedParts { loss = try reader(writer).lossOfNames() }
        if let loss { throw CloudFailure(.badContainer, loss.reason) }
        try StateTable.set(.serverNames, .text(names.text), writer)
    }
}
