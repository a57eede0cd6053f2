// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess

extension Simulation {
    /// Ends all faults.
    func heal() throws {
        say("faults end")
        network.faults.kinds = []
        network.isFull = false
        network.endsWaits = false
        sharing.until = agenda.now + 1800
        serverDisk.mend()
        startServer()
        for device in devices {
            if device.disk.isDoomed { try device.kill() }
            let isOld = faults.kinds.contains(.versions) && device.version < SimulatedModel.versions
            if isOld {
                try device.quit()
                device.version = SimulatedModel.versions
            }
            try boot(device)
            device.life?.transport.mend()
            resume(device)
        }
        if features.contains(.sharing) { try finishSharing() }
        if features.contains(.pauses) {
            for device in devices { agenda.after(extra.seconds(1...600)) { self.awaitSync(device, seconds: 3600, isCertain: true) } }
        }
    }

    /// Compares the final states of all devices.
    func conclude() throws {
        for user in users where !sharing.leavers.contains(user) {
            try addWitness("witness of \(user)", .container, of: user)
            if features.contains(.mirror) { try addWitness("mirror of \(user)", .mirror, of: user) }
        }
        executor.settle()
        // A poll that has begun ends.
        let end = features.pollsForever ? agenda.now + 600 : .infinity
        var count = 0
        while violations.isEmpty, let due = agenda.nextDue, due <= end || isAsking && due <= end + 600, let body = agenda.take() {
            body()
            executor.settle()
            count += 1
            if count > Self.eventsMax { return fail("the devices are not idle after \(Self.eventsMax) events") }
        }
        for circle in Set(users.map(circle)).sorted() { try conclude(circle) }
    }

    /// Adds a fresh device of a user.
    private func addWitness(_ name: String, _ kind: AppKind, of user: String) throws {
        guard let first = devices.first(where: { $0.user == user }) else { return }
        let witness = try SimulatedDevice(
            name, first.role, kind, of: user, version: first.version, in: folder.url, agenda, executor, random.fork(), skew: 0, features)
        witness.hasLenses = canary != .losesLenses
        devices.append(witness)
        try boot(witness)
    }

    private var isAsking: Bool {
        devices.contains { $0.life?.app.status.isAsking == true }
    }

    private func conclude(_ circle: String) throws {
        let all = devices.filter { self.circle(of: $0.user) == circle && !sharing.leavers.contains($0.user) }
        var log = sharing.leftLogs
        for device in all {
            guard let status = device.life?.app.status else { continue }
            let isRefused = try device.role == .reader && !sharing.refused.isEmpty || hasStrays(device)
            if !status.isIdle && !isRefused || status.pendingCount != 0 { fail("\(device.name) came to rest as \(status.description)") }
            let (values, faults) = try device.conflictLog()
            log.formUnion(values)
            for fault in faults { fail("\(device.name): \(fault)") }
        }
        // A user that left keeps the log of earlier conflicts.
        for device in devices where sharing.leavers.contains(device.user) { log.formUnion(try device.conflictLog().values) }
        let owners = all.filter { $0.role == .owner || $0.role == .citizen }
        guard let owner = owners.last, let last = try owner.picture() else { return }
        for device in owners.dropLast() { try compare(device, device.picture(), with: last, of: owner) }
        if features.contains(.sharing) { try compareShared(all, with: owner) }
        if faults.kinds.contains(.accounts) || restoreCount > 0 && features.contains(.sharing) {
            for device in devices { references[circle]?.kept.formUnion(try device.archived()) }
        }
        for device in devices where sharing.leavers.contains(device.user) { references[circle]?.giveUp(device.name) }
        for violation in references[circle]?.violations(last, log: log) ?? [] { fail("\(circle): \(violation)") }
    }

    func compare(_ device: SimulatedDevice, _ picture: Picture?, with other: Picture, of owner: SimulatedDevice) throws {
        for line in picture?.difference(from: other) ?? [] { fail("\(device.name) and \(owner.name): \(line)") }
    }
}
