// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess

extension Simulation {
    /// Prepares the server before devices start.
    func prepareServer() throws {
        if features.contains(.publicQueries) {
            // Queries need indexes.
            let types = ["CD_Post", "CD_Attachment", "CD_Image", "CD_Tag", "CD_Place", "CDMR"]
            try executor.run { [cloud] in
                for type in types {
                    try await cloud.addIndexes(
                        toType: type, fields: ["___recordID", "___modTime"], container: ContainerApp.identifier)
                }
            }
        }
        if features.contains(.sharing) {
            try executor.run { [cloud] in
                for user in ["bo", "ada"] { try await cloud.introduce(user, givenName: user, emailAddress: "\(user)@example.org") }
            }
        }
    }

    /// Schedules the events of features, until the end of faults.
    func planFeatures(_ span: Double) {
        if features.contains(.pauses) { planPauses(span) }
        if features.contains(.sharing) { planSharing(span) }
        if features.contains(.restores) { planRestores(span) }
        if features.contains(.mirror) { planMirrors(span) }
        if features.contains(.assets) {
            for _ in 0..<3 {
                // Unreferenced assets expire after a while.
                agenda.after(extra.seconds(0...span)) {
                    self.attempt { _ = try self.ask { try self.executor.run { [cloud = self.cloud] in try await cloud.removeExpired() } } }
                }
            }
        }
        if features.isPublic {
            // The server sends no notifications there: apps poll.
            for device in devices {
                for _ in 0..<4 { agenda.after(extra.seconds(0...span)) { self.awaitSync(device, seconds: 30) } }
            }
        }
    }

    // MARK: Pauses

    private func planPauses(_ span: Double) {
        for device in devices {
            for _ in 0..<Int.random(in: 0...2, using: &extra) {
                let length = extra.seconds(1...span / 2)
                agenda.after(extra.seconds(0...span)) {
                    guard let life = device.life else { return }
                    self.say("\(device.name) pauses")
                    if self.canary != .ignoresPause { self.attempt(on: device) { try life.app.pause() } }
                    life.transport.isPaused = true
                    self.agenda.after(length) { self.resume(device) }
                }
            }
            for _ in 0..<Int.random(in: 1...6, using: &extra) {
                let patience = extra.seconds(0...200)
                agenda.after(extra.seconds(0...span)) { self.awaitSync(device, seconds: patience) }
            }
        }
    }

    func resume(_ device: SimulatedDevice) {
        guard let life = device.life, life.transport.isPaused else { return }
        say("\(device.name) resumes")
        life.transport.isPaused = false
        attempt(on: device) { try life.app.resume() }
    }

    // MARK: Waiting for a sync

    /// Waits for a sync, and checks the container's guarantee.
    ///
    /// - Parameter isCertain: Whether the sync must succeed.
    func awaitSync(_ device: SimulatedDevice, seconds: Double, isCertain: Bool = false) {
        guard let life = device.life, !faults.kinds.contains(.accounts) else { return }
        let circle = circle(of: device.user)
        let saved = references[circle]?.saved(by: device.name)
        let expected = promises[device.user]?.kept
        let restores = restoreCount
        say("\(device.name) waits for a sync")
        let kept = {
            self.say("\(device.name) is in step")
            // The response of an earlier life does not bind a later one.
            guard device.life?.transport === life.transport, let saved, device.role != .reader,
                device.role != .guest || !self.features.contains(.permissions)
            else { return }
            guard restores == self.restoreCount else { return }
            // A removed participant has no data.
            guard !self.sharing.leavers.contains(device.user) else { return }
            self.attempt {
                if let expected, let picture = try device.picture() {
                    let missing = self.references[circle]?.missing(in: picture, of: expected, version: device.version) ?? []
                    for line in missing { self.fail("\(device.name): \(line)") }
                }
                self.promises[device.user, default: Promises()].keep(saved)
            }
        }
        if canary == .answersTooSoon { return kept() }
        let done = Box(kept)
        Task(executorPreference: executor) {
            do {
                try await life.app.sync(timeout: .seconds(seconds))
                done.value()
            } catch {
                let reason = life.app.reason(of: error)
                self.say("\(device.name) did not sync: \(reason ?? "\(error)")")
                if isCertain { self.fail("\(device.name) did not sync: \(reason ?? "\(error)")") }
                if reason == nil { self.fail("sync() threw \(error)") }
            }
        }
    }
}
