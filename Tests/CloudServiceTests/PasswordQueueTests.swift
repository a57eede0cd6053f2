// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ServiceFixtures
import Synchronization
import Testing

@testable import CloudService

/// Hashes of passwords take long, and are computed one at a time.
@Suite(.timeLimit(.minutes(1))) struct PasswordQueueTests {
    @Test func networksOfASiteAreOneSite() {
        #expect(SignIns.site(ofNetwork: "32.1.13.184.0.1.0.2") == "32.1.13.184.0.1")
        #expect(SignIns.site(ofNetwork: "192.0.2.1") == "192.0.2.1")
        #expect(SignIns.site(ofNetwork: "") == "")
    }

    @Test func aSiteWithManySignInsDoesNotDelayOthers() async throws {
        let village = try Village()
        // It deletes its folder when it is deallocated.
        defer { withExtendedLifetime(village) {} }
        let service = village.service
        let (release, hold) = AsyncStream.makeStream(of: Void.self)
        let ended = Ended()
        // Each has a name of its own: attempts at one name are limited before they wait.
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await service.passwordChecks.run("first") { for await _ in release {} } }
            while service.passwordChecks.counts.running < 1 { await Task.yield() }
            for number in 0..<8 {
                group.addTask { await Self.signIn(service, "stranger\(number)", network: "32.1.13.184.0.1.0.\(number)", ended) }
            }
            while service.passwordChecks.counts.waiting < 8 { await Task.yield() }
            group.addTask { await Self.signIn(service, "owner", network: "192.0.2.1", ended) }
            while service.passwordChecks.counts.waiting < 9 { await Task.yield() }
            hold.finish()
        }
        let networks = ended.networks.withLock { $0 }
        #expect(networks.count == 9)
        #expect(networks.prefix(6).contains("192.0.2.1"))
    }

    @Test func aSignInThatWaitsTooLongIsRefused() async throws {
        let village = try Village()
        defer { withExtendedLifetime(village) {} }
        var changed = village.service
        changed.passwordChecks = AdmissionGate(AdmissionController.Rules(runningMax: 1, interval: .milliseconds(20)))
        let service = changed
        let (release, hold) = AsyncStream.makeStream(of: Void.self)
        let first = Task { try? await service.passwordChecks.run("first") { for await _ in release {} } }
        while service.passwordChecks.counts.running < 1 { await Task.yield() }
        let refusal = await #expect(throws: WireError.self) {
            _ = try await service.signIns.signIn(name: "owner", password: "password", to: .console(isKept: false), network: "192.0.2.1")
        }
        #expect(refusal?.code == .tryAgainLater)
        #expect((refusal?.retryAfter ?? 0) >= 1)
        hold.finish()
        _ = await first.value
    }

    private final class Ended: Sendable {
        let networks = Mutex<[String]>([])
    }

    private static func signIn(_ service: CloudService, _ name: String, network: String, _ ended: Ended) async {
        _ = try? await service.signIns.signIn(name: name, password: "password", to: .console(isKept: false), network: network)
        ended.networks.withLock { $0.append(network) }
    }
}
