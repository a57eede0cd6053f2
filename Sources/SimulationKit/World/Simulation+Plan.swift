// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire

extension Simulation {
    /// Schedules the actions of apps, and faults.
    ///
    /// - Returns: The end of faults.
    func plan() -> Double {
        let span = random.percent(50) ? random.seconds(30...120) : random.seconds(300...3000)
        for device in devices {
            for _ in 0..<Int.random(in: 4...16, using: &random) {
                agenda.after(random.seconds(0...span)) { self.attempt { try self.edit(device) } }
            }
        }
        plan(.cuts, 1...3, span) { device, seconds in
            self.say("\(device.name) goes offline")
            device.life?.transport.cut()
            self.agenda.after(seconds) { self.mend(device) }
        }
        plan(.cuts, 0...2, span) { device, _ in
            self.say("\(device.name) loses its connections")
            device.life?.transport.breakConnections()
        }
        plan(.kills, 1...3, span) { device, seconds in
            guard device.life != nil, !device.disk.isDoomed else { return }
            let moment = device.planDeath(atWrite: Int.random(in: 1...60, using: &self.random))
            self.say("\(device.name) will die at \(moment)")
            self.agenda.after(seconds) { self.attempt { if device.disk.isDoomed { try self.die(device) } } }
        }
        plan(.restarts, 1...2, span) { _, seconds in
            guard (try? self.cloud.stop()) != nil else { return }
            self.say("the server stops")
            self.agenda.after(seconds / 4) { self.startServer() }
        }
        plan(.quota, 1...2, span) { _, seconds in
            self.say("the storage is full")
            self.network.isFull = true
            self.agenda.after(seconds) { self.network.isFull = false }
        }
        plan(.purge, 1...1, span) { device, _ in try self.purge(device.user) }
        plan(.accounts, 1...2, span) { device, _ in try self.changeUser(of: device) }
        plan(.versions, 1...2, span) { device, _ in try self.upgrade(device) }
        for _ in 0..<Int.random(in: 1...3, using: &later) where faults.kinds.contains(.crashes) {
            let due = later.seconds(0...span), number = Int.random(in: 1...40, using: &later)
            agenda.after(due) {
                guard !self.cloud.isStopped else { return }
                self.say("the server will die at write \(number)")
                self.serverDisk.fail(atWrite: number)
            }
        }
        if let canary { plan(canary, span) }
        return span
    }

    private func plan(
        _ kind: FaultPlan.Kind, _ count: ClosedRange<Int>, _ span: Double, _ body: @escaping (SimulatedDevice, Double) throws -> Void
    ) {
        for _ in 0..<Int.random(in: count, using: &random) {
            let due = random.seconds(0...span), seconds = random.seconds(1...span / 2)
            let device = devices[Int.random(in: 0..<devices.count, using: &random)]
            guard faults.kinds.contains(kind) else { continue }
            let body = Box(body)
            agenda.after(due) { self.attempt { try body.value(device, seconds) } }
        }
    }

    private func plan(_ canary: Canary, _ span: Double) {
        for _ in 0..<60 {
            let due = random.seconds(0...span)
            let device = devices[Int.random(in: 0..<devices.count, using: &random)]
            agenda.after(due) {
                let damage: SyncMetadataDamage? =
                    switch canary {
                    case .forgetsPending: .forgetsPendingUploads
                    case .forgetsGuests: device.role == .guest ? .forgetsPendingUploads : nil
                    case .ignoresAncestor: .forgetsMergeBases
                    case .dropsConflicts: .emptiesConflictLog
                    case .losesOrder: .flattensPositions
                    case .emptiesMirrorLog: device.kind == .mirror ? .emptiesConflictLog : nil
                    case .answersTooSoon, .ignoresPause, .losesNews, .endsPagesEarly, .keepsHistory, .losesLenses: nil
                    }
                // Before the mirror has made its tables, and on a disk that is gone, there is nothing to spoil.
                if let damage { try? device.tamper(damage) }
            }
        }
    }

    // MARK: Events

    func edit(_ device: SimulatedDevice) throws {
        guard device.life != nil, var workload = workloads[device.name] else { return }
        defer { workloads[device.name] = workload }
        switch try device.save({ try workload.change($0) }) {
        case .nothing: break
        case .saved(let edit): acknowledge(edit, by: device)
        case .failed(let error):
            guard device.disk.hasDied else {
                return fail("\(device.name) could not save: \(error)")
            }
            say("\(device.name) could not save")
        }
    }

    private func mend(_ device: SimulatedDevice) {
        say("\(device.name) is online again")
        device.life?.transport.mend()
    }

    /// The server's disk failed: the open transaction is rolled back when it restarts.
    func crash() {
        say("the server dies")
        try? cloud.stop()
        serverDisk.mend()
        agenda.after(later.seconds(1...60)) { self.startServer() }
    }

    func startServer() {
        guard cloud.isStopped else { return }
        say("the server starts")
        // It may crash while it starts, or while it delivers pending notifications, which a server does first.
        attempt {
            _ = try ask {
                try cloud.start()
                try executor.run { [cloud] in try await cloud.deliverPendingNews() }
            }
        }
    }

    private func purge(_ user: String) throws {
        guard !cloud.isStopped else { return }
        say("\(user) deletes everything")
        references[user]?.isPurged = true
        _ = try ask {
            try executor.run { [cloud, executor] in
                let transport = try await cloud.addDevice("settings", of: user, executor: executor)
                let client = CloudDatabaseClient(
                    containerIdentifier: ContainerApp.identifier, environment: .development, scope: .private,
                    transport: transport)
                let home = ZoneID(zoneName: "com.apple.coredata.cloudkit.zone")
                return try await client.modifyZones(ZonesModifyRequest(operations: [.delete(home)]))
            }
        }
    }

    private func changeUser(of device: SimulatedDevice) throws {
        guard let other = users.first(where: { $0 != device.user }), !cloud.isStopped, device.life != nil, !device.disk.isDoomed else {
            return
        }
        // A store without sync metadata belongs to the user that signs in first, as a local one does.
        guard try device.knowsItsUser() else { return }
        references[device.user]?.kept.formUnion(try device.conflictLog().values)
        references[device.user]?.giveUp()
        try device.quit()
        say("\(device.name) changes to \(other)")
        device.user = other
        device.watch.forget()
        try boot(device)
    }

    private func upgrade(_ device: SimulatedDevice) throws {
        guard device.version < SimulatedModel.versions, device.life != nil, !device.disk.isDoomed, !cloud.isStopped else { return }
        say("\(device.name) gets the later version")
        try device.quit()
        device.version = SimulatedModel.versions
        try boot(device)
    }
}
