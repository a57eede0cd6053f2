// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudConsole
import CloudEngine
import CloudServer
import CloudService
import Foundation
import Logging
import ServiceLifecycle

#if TARN_POSTGRES
    import CloudEnginePostgres

    extension Logger {
        /// The text of a statement has places instead of values.
        func report(_ statement: SlowStatement) {
            warning(
                "a statement was slow",
                metadata: ["event": "slow-statement", "statement": "\(statement.sql)", "milliseconds": "\(statement.milliseconds)"])
        }
    }
#endif

/// Sends heartbeats on push streams, removes expired data, and closes push streams at shutdown.
struct Housekeeping: ServiceLifecycle.Service {
    private static let interval = Duration.seconds(3600)

    let store: any ServerStorage
    let console: Console
    let service: CloudService
    let hub: PushHub
    let push: any FollowingPushBus
    let spans: SpanExporter?
    let identity: TLSIdentity?
    let auditMilliseconds: Int64
    let now: @Sendable () -> Int64
    let logger: Logger

    func run() async throws {
        await withTaskGroup { group in
            group.addTask { await CloudServer.beat(hub) }
            group.addTask { await removeExpired() }
            group.addTask { await followRevocations() }
            group.addTask { await exchangeBudgets() }
            group.addTask { await storeCredentialUses() }
            group.addTask { await measure() }
            group.addTask { await console.countContainers() }
            group.addTask { await removeStaleSnapshots() }
            group.addTask { await push.followOtherProcesses() }
            if let spans { group.addTask { await spans.run() } }
            if let identity { group.addTask { await identity.followFiles(logger: logger) } }
            try? await gracefulShutdown()
            hub.close()
            group.cancelAll()
            try? await service.requestCredentials.storeUses()
            await service.snapshots.close()
        }
    }

    /// Ends streams of revoked credentials, whichever process revoked them.
    private func followRevocations() async {
        var count: Int64?
        while !Task.isCancelled {
            // A failed check is retried after one second; until then, each notification is authorized by itself.
            count = (try? await service.revocations.endListenersIfRevoked(since: count)) ?? count
            try? await Task.sleep(for: .seconds(1))
        }
    }

    private func exchangeBudgets() async {
        guard service.budgets.hasOtherProcesses else { return }
        while !Task.isCancelled {
            // Without the database, each process limits by itself.
            try? await service.budgets.exchange()
            try? await Task.sleep(for: .seconds(1))
        }
    }

    private func storeCredentialUses() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(60))
            do {
                try await service.requestCredentials.storeUses()
            } catch {
                logger.error(
                    "last uses of devices could not be stored", metadata: ["cause": "\((error as? StorageFailure)?.what ?? "unknown")"])
            }
        }
    }

    private func measure() async {
        while !Task.isCancelled {
            await console.measure()
            try? await Task.sleep(for: .seconds(60))
        }
    }

    private func removeStaleSnapshots() async {
        while !Task.isCancelled {
            await service.snapshots.removeStale()
            try? await Task.sleep(for: .seconds(60))
        }
    }

    private func removeExpired() async {
        while !Task.isCancelled {
            await Self.run(
                [
                    Step(name: "news of shares") { try await service.announcements.deliverPending() },
                    // Before the zones themselves expire.
                    Step(name: "deleted zones") { try await service.deletedZones.emptyAll() },
                    Step(name: "expired rows and files") { try await store.removeExpired(now: now()) },
                    Step(name: "audit log") { try await store.removeAuditEvents(before: now() - auditMilliseconds) },
                ], logger: logger)
            try? await Task.sleep(for: Self.interval)
        }
    }

    /// A part of the removal of expired data.
    struct Step: Sendable {
        let name: String
        let run: @Sendable () async throws -> Void
    }

    /// Executes all steps. One zone that cannot be emptied must not keep the rest.
    static func run(_ steps: [Step], logger: Logger) async {
        for step in steps {
            do {
                try await step.run()
            } catch is CancellationError where Task.isCancelled {
                // The server stops, and the next one goes on.
                return
            } catch {
                let cause = (error as? StorageFailure)?.what ?? "\(type(of: error))"
                logger.error("could not remove what expired", metadata: ["step": "\(step.name)", "cause": "\(cause)"])
            }
        }
    }
}
