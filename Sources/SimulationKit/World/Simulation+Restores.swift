// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import Foundation

extension Simulation {
    /// Enters a backup of the server and one or two restores of it, or up to five, while devices save and sync.
    func planRestores(_ span: Double) {
        var random = SeededNumbers(seed: ~seed &+ 11)
        let start = random.seconds(0...span / 2)
        agenda.after(start) { self.attempt { try self.backUp() } }
        for _ in 0..<Int.random(in: 1...2, using: &random) {
            agenda.after(start + random.seconds(1...span / 2)) { self.attempt { try self.restoreServer() } }
        }
        guard features.contains(.repeatedRestores) else { return }
        var repeated = SeededNumbers(seed: ~seed &+ 14)
        for _ in 0..<Int.random(in: 1...3, using: &repeated) {
            agenda.after(start + repeated.seconds(1...span / 2)) { self.attempt { try self.restoreServer() } }
        }
    }

    private func backUp() throws {
        guard !cloud.isStopped else { return }
        say("the server is backed up")
        let path = folder.url.appendingPathComponent("backup").path
        if try ask({ try executor.run { [cloud] in try await cloud.backUp(to: path) } }) != nil {
            backup = Backup(path: path, shares: sharing.shares)
        }
    }

    private func restoreServer() throws {
        guard let backup else { return }
        say("the server is restored")
        let keepsHistory = canary == .keepsHistory
        _ = try ask { try executor.run { [cloud] in try await cloud.restore(from: backup.path, keepsHistory: keepsHistory) } }
        // The promises of sync() were about the replaced data.
        promises = [:]
        restoreCount += 1
        for user in users { references[user]?.isServerRestored = true }
        if features.contains(.sharing) { planSharesAgain(sharing.revert(to: backup.shares)) }
    }

    /// The owner shares objects again whose share is lost, and users join shares again that lack them.
    private func planSharesAgain(_ lost: [Int]) {
        var random = SeededNumbers(seed: ~seed &+ 19 &+ UInt64(restoreCount))
        for number in lost { agenda.after(random.seconds(1...120)) { self.share(number) } }
        for number in sharing.shares.indices {
            for user in users.dropFirst() { agenda.after(random.seconds(1...240)) { self.join(user, number) } }
        }
    }
}
