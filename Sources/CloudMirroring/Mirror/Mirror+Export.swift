// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import MirroringCore
import ObjectGraph
import Synchronization

extension Mirror {
    /// Why a public store keeps what was changed.
    static let nobodyIsSignedIn = "nobody is signed in: what was changed here is sent after signing in"

    func planExport(_ size: RequestSize) async throws -> SyncMachine.Outcome {
        if let plan = next.withLock({ $0.take() }) {
            prepared.withLock { $0 = plan }
            return .batchPlanned(count: plan.batch?.batch.items.count ?? 0, pending: plan.pending, refusal: plan.refusal)
        }
        await abandonAhead()
        try await settleOutbox()
        try await release()
        let before = waiting.withLock { $0 }
        let hasImported = hasImported.withLock { value in
            defer { value = false }
            return value
        }
        // Who has to sign in first sends nothing yet.
        let opened = file.scope == .public ? nil : try? openCloud()
        var plan = try await onQueue {
            try self.file.nextBatch(itemsMax: size.items, pending: before.count, hasImported: hasImported) { [surroundings = self.surroundings] in
                try? opened?.request(for: $0, key: surroundings.makeName(), isAtomic: size.isAtomic)
            }
        }
        // Once everything else is sent, so that what the server accepted of the same save is known.
        if plan.batch == nil, plan.refusal != nil, try await restoreRejectedDeletions() {
            plan = try await onQueue { try self.file.nextBatch(itemsMax: size.items, pending: nil, hasImported: false) }
        }
        let rejected = plan.refusal == nil ? 0 : try await onQueue { try self.file.rejectedCount() }
        rejectedCount.withLock { $0 = rejected }
        if plan.request != nil { mayOwe.withLock { $0 = true } }
        waiting.withLock { if $0.changes == before.changes { $0.count = plan.pending } }
        if plan.batch != nil, permissions.isSignedOut {
            // Reading needs nobody; writing does.
            let cloud = try openCloud()
            let (caller, server) = try await cloud.introduction()
            try await learn(caller)
            guard let user = caller?.identity.userRecordName else {
                return .batchPlanned(count: 0, pending: plan.pending, refusal: Self.nobodyIsSignedIn)
            }
            let owner = StoreOwner(user: user, server: server)
            try await onQueue { try self.file.remember(SignIn(owner: owner, credential: cloud.client.transport.credential)) }
        }
        plan.size = size
        prepared.withLock { [plan] in $0 = plan }
        return .batchPlanned(count: plan.batch?.batch.items.count ?? 0, pending: plan.pending, refusal: plan.refusal)
    }

    /// Plans what goes to a server that has no room: deletions, ahead of all that needs some.
    func planRoom(_ size: RequestSize) async throws -> SyncMachine.Outcome {
        next.withLock { $0 = nil }
        await abandonAhead()
        try await settleOutbox()
        var plan = try await onQueue { try self.file.nextDeletions(itemsMax: size.items) }
        plan.size = size
        prepared.withLock { [plan] in $0 = plan }
        return .batchPlanned(count: plan.batch?.batch.items.count ?? 0, pending: plan.pending, refusal: plan.refusal)
    }

    func sendBatch() async throws -> SyncMachine.Outcome {
        guard let plan = prepared.withLock({ $0.take() }), let batch = plan.batch else {
            preconditionFailure("a batch is planned before it is sent")
        }
        sent.withLock { $0 = batch }
        let cloud = try openCloud()
        let prepared: OutgoingRequest?, refused: [String: ItemOutcome]
        do {
            (prepared, refused) = try await prepare(batch, plan.request, isAtomic: plan.size.isAtomic, cloud)
        } catch {
            return try await unsent(batch, CloudFailure(error))
        }
        guard let request = prepared else {
            return .batchSettled(try await onQueue { try self.file.settle(batch, key: nil, outcomes: refused) })
        }
        async let awaited = answer(to: request, cloud)
        let nextSize = plan.size.afterAcceptance
        let ahead = plan.pending > batch.batch.items.count ? await planAhead(of: batch, nextSize, cloud) : nil
        let answer: MirrorCloud.Answer
        do {
            answer = try await awaited
        } catch {
            if ahead != nil { try? await onQueue { try self.file.forgetAhead(of: request) } }
            return try await unsent(batch, CloudFailure(error))
        }
        let following = refused.isEmpty ? await sendAhead(ahead, after: answer, to: request, cloud) : nil
        underWay.withLock { $0 = following }
        let ending = ending()
        var (verdict, planned) = try await onQueue {
            // What could not be sent is settled with what was.
            let rest = batch.batch.items.filter { refused[$0.recordName] != nil }
            let all = MirrorFile.ZonedBatch(batch: ExportBatch(items: request.batch.items + rest), zone: batch.zone, token: batch.token)
            return try self.file.settle(
                all, key: request.key, outcomes: answer.outcomes.merging(refused) { sent, _ in sent }, token: answer.token, ahead: ahead,
                isAheadSent: following != nil, ending: ending)
        }
        if verdict.firstFailure == nil { wrote(ending: ending) }
        if let following { planned?.batch?.token = following.token }
        planned?.pending = plan.pending - verdict.accepted
        planned?.size = nextSize
        next.withLock { [planned] in $0 = planned }
        mayOwe.withLock { [planned] in $0 = planned?.request != nil || following != nil }
        if let failure = verdict.requestFailure, failure.isZoneGone {
            if !batch.zone.isHome { return try await unsent(batch, failure) }
            verdict.requestFailure = await explained(failure)
        }
        if verdict.failure?.code == .permissionFailure { askPermissionsSoon() }
        waiting.withLock { if let count = $0.count { $0.count = max(0, count - verdict.accepted - verdict.failed) } }
        permissions.forget()
        return .batchSettled(verdict)
    }

    /// Uploads the assets of a batch, and keeps its request, unless that was done when it was planned.
    private func prepare(
        _ batch: MirrorFile.ZonedBatch, _ written: OutgoingRequest?, isAtomic: Bool, _ cloud: MirrorCloud
    ) async throws -> (OutgoingRequest?, refused: [String: ItemOutcome]) {
        if let written { return (written, [:]) }
        let (request, refused) = try await cloud.prepare(batch, key: surroundings.makeName(), isAtomic: isAtomic)
        if let request {
            mayOwe.withLock { $0 = true }
            try await onQueue { try self.file.put(request) }
        }
        return (request, refused)
    }

    /// A batch that could not be sent: with a shared zone that is gone everything in it goes, too.
    private func unsent(_ batch: MirrorFile.ZonedBatch, _ failure: CloudFailure) async throws -> SyncMachine.Outcome {
        guard !batch.zone.isHome, failure.isZoneGone else { throw failure }
        try await remove(batch.zone, failure)
        return .batchSettled(BatchVerdict())
    }

    func exchange(_ request: OutgoingRequest, _ cloud: MirrorCloud, progress: SendProgress = SendProgress()) async throws -> MirrorCloud.Answer {
        let wasInStep = pushed.withLock { $0.sends() }
        // They show what was there before the request.
        chains.withLock { $0.removeAll() }
        do {
            let answer = try await cloud.send(request) { progress.note($0) }
            if answer.token != nil { pushed.withLock { $0.sent(wasInStep: wasInStep) } }
            return answer
        } catch {
            let failure = CloudFailure(error)
            // A file that cannot be written keeps the request, which is the safe side.
            try? await onQueue { try self.file.note(failure, of: request) }
            if failure.code == .notAuthenticated { permissions.signIn(nil) }
            throw error
        }
    }

    /// Sends what was sent before and not answered once more: what became of it is known before anything is imported or sent.
    func settleOutbox() async throws {
        guard mayOwe.withLock({ $0 }) else { return }
        while let request = try await onQueue({ try self.file.outbox() }) {
            let batch = MirrorFile.ZonedBatch(batch: request.batch, zone: request.zone)
            let outcomes: [String: ItemOutcome]
            do {
                outcomes = try await exchange(request, try openCloud()).outcomes
            } catch {
                _ = try await unsent(batch, CloudFailure(error))
                return
            }
            _ = try await onQueue { try self.file.settle(batch, key: request.key, outcomes: outcomes) }
            permissions.forget()
        }
        mayOwe.withLock { $0 = false }
    }
}
