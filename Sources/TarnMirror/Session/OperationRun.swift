// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import MirroringCore
import Synchronization

/// Carries out one operation of the machine.
struct OperationRun: Sendable {
    let session: MirrorSession

    private var client: MirrorClient { session.client }

    func outcome(of operation: SyncMachine.Operation) async -> SyncMachine.Outcome {
        do {
            let outcome = try await result(of: operation)
            if case .batchPlanned = outcome { return outcome }
            session.failed(nil)
            await session.countConflicts()
            return outcome
        } catch {
            let failure = await explanation(of: CloudFailure(error))
            session.failed(failure)
            return .failed(failure)
        }
    }

    private func result(of operation: SyncMachine.Operation) async throws -> SyncMachine.Outcome {
        switch operation {
        case .setUp:
            try await setUp()
            return .done
        case .fetchPage: return try await Importer(session: session).fetchPage()
        case .plan(let scope, let size): return .batchPlanned(try await Exporter(session: session).plan(scope, size))
        case .send(let batch, _, let size): return .batchSettled(try await Exporter(session: session).send(batch, size))
        case .quarantine(let batch, let failure):
            let verdict = try await session.onFile { [mirrored = session.mirrored] in try mirrored.quarantine(batch, failure) }
            return .batchSettled(verdict)
        case .reset(let reset):
            session.chain.withLock { $0 = PageChain() }
            try await session.onFile { [mirrored = session.mirrored] in try mirrored.reset(reset) }
            return .done
        }
    }

    // MARK: Set-up

    /// Identifies account and server, then makes sure that the zone is there.
    ///
    /// - Throws: `CloudFailure` with `.badContainer` for a store of another account or another server: it stays as it is.
    private func setUp() async throws {
        let memory = try await session.onFile { [mirrored = session.mirrored] in
            try mirrored.begin()
            return try mirrored.open()
        }
        let present = try await client.introduction()
        let rules = AccountRules(anotherAccount: .keep, serverReplaced: .keep)
        if case .halt(let change) = rules.decision(known: SignIn(owner: memory.owner), present: SignIn(owner: present)) {
            throw CloudFailure(.badContainer, change.reason)
        }
        if present != memory.owner { try await session.onFile { [mirrored = session.mirrored] in try mirrored.remember(present) } }
        // A known zone that is missing was deleted, also during a full fetch, in which its change token is nil.
        if memory.databaseToken != nil { return try await client.requireZone() }
        try await client.createZone()
        _ = try await listZones(after: nil)
    }

    /// Reads the list of changed zones to its end.
    ///
    /// - Returns: The reason for which the zone was deleted; nil while it exists, or if the list does not name it.
    private func listZones(after token: String?) async throws -> ZoneDeletionReason? {
        var token = token
        var reason: ZoneDeletionReason?
        var hasExpired = false
        var positions = PagePositions()
        while true {
            let page: DatabaseChangesResponse
            do {
                page = try await client.databaseChanges(after: token)
            } catch let failure as CloudFailure where failure.code == .changeTokenExpired && token != nil && !hasExpired {
                hasExpired = true
                token = nil
                continue
            }
            if page.moreComing, !positions.advance(from: token, to: page.syncToken) { throw CloudFailure.repeatedPage }
            for change in page.zones where change.zoneID.zoneName == MirrorClient.home.zoneName {
                reason = change.isDeleted ? change.deletionReason : nil
            }
            let next = page.syncToken
            token = next
            guard !page.moreComing else { continue }
            switch reason {
            // A list after this token would not name the deletion: the next launch has to find it again.
            case .deleted, .purged: break
            case .encryptedDataReset, nil:
                try await session.onFile { [mirrored = session.mirrored] in try mirrored.remember(databaseToken: next) }
            }
            return reason
        }
    }

    // MARK: A missing zone

    /// Returns the failure that decides what happens to a missing zone: the list of zones contains the reason.
    ///
    /// If the server lost it, or it was deleted with the user's keys, this device uploads its records.
    private func explanation(of failure: CloudFailure) async -> CloudFailure {
        if failure.code == .userDeletedZone { return .dataDeleted }
        guard failure.code == .zoneNotFound, !failure.didResetEncryptedData else { return failure }
        do {
            let token = try await session.onFile { [mirrored = session.mirrored] in try mirrored.state().databaseToken }
            switch try await listZones(after: token) {
            case .deleted, .purged: return .dataDeleted
            case .encryptedDataReset, nil: return failure
            }
        } catch {
            return CloudFailure(error)
        }
    }
}

extension CloudFailure {
    /// The user deleted the app's data on another device. The store stays as it is, and nothing is sent.
    static var dataDeleted: CloudFailure { CloudFailure(.badContainer, AccountChange.Kind.dataDeleted.reason) }
}

extension AccountChange.Kind {
    /// Why sync stops, and the next step.
    fileprivate var reason: String {
        switch self {
        case .serverReplaced:
            "this store was synced with another server, or with an earlier data folder of this one; use another store file for this server"
        case .anotherAccount:
            "this store holds the data of another account; sign in with the account it was synced with, or use another store file"
        case .dataDeleted:
            "the app's data was deleted on another device, and TarnMirror left this store as it is; to sync again, delete the store and its "
                + "sync metadata, or delete the metadata alone to send everything again"
        case .shareLost: "the server lost objects that others shared with this user"
        }
    }
}
