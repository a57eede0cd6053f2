// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess

extension Simulation {
    /// Creates users and devices.
    func setUp() throws {
        if faults.kinds.contains(.crashes) { try serverDisk.lay(under: cloud) }
        users = faults.kinds.contains(.accounts) || random.percent(20) ? ["mia", "bo"] : ["mia"]
        if features.isPublic { users = ["mia", "bo"] }
        if features.contains(.sharing) { users = ["mia", "bo", "ada"] }
        for user in users {
            references[user] = Reference()
            _ = try executor.run { [cloud] in try await cloud.addUser(user, device: "first") }
        }
        try prepareServer()
        let count = Int.random(in: 2...4, using: &random)
        let kinds = kinds(of: count)
        for (index, name) in ["phone", "tablet", "laptop", "watch"].prefix(count).enumerated() {
            let (user, role) = owner(index)
            let isOff = faults.kinds.contains(.skew) && random.percent(50)
            let skew = random.seconds(-5...5) * 86_400
            let isNewer = random.percent(50)
            let device = try SimulatedDevice(
                name, role, kinds[index], of: user, version: faults.kinds.contains(.versions) && isNewer ? 2 : 1, in: folder.url, agenda,
                executor,
                random.fork(), skew: isOff ? skew : 0, features,
                polls: features.contains(.polling) && extra.percent(70))
            device.hasLenses = canary != .losesLenses
            devices.append(device)
            let own = ["phone", "tablet", "laptop", "watch"].enumerated().filter { owner($0.offset).user == user }.compactMap(
                \.element.first)
            workloads[name] = Workload(random.fork(), prefix: String(name.prefix(1)), features, role, ownPrefixes: Set(own), seed: seed)
            try boot(device)
        }
    }

    /// The owner of the n-th device.
    private func owner(_ index: Int) -> (user: String, role: Role) {
        if features.contains(.sharing) { return [("mia", .owner), ("bo", .guest), ("mia", .owner), ("ada", .reader)][index] }
        return (users[index % users.count], features.isPublic ? .citizen : .owner)
    }

    /// The group of users with common checks: one user, or all users if they share data.
    func circle(of user: String) -> String { features.isPublic || features.contains(.sharing) ? users[0] : user }

    private func transport(_ device: SimulatedDevice) throws -> SimulatedTransport {
        SimulatedTransport(device.name, try base(device), network, polls: device.polls)
    }

    /// The connection to the server without faults.
    func base(_ device: SimulatedDevice) throws -> InProcessTransport {
        let (name, user) = (device.name, device.user)
        let base =
            try transports["\(name) \(user)"]
            ?? executor.run { [cloud, executor] in try await cloud.addDevice(name, of: user, executor: executor) }
        transports["\(name) \(user)"] = base
        return base
    }

    func boot(_ device: SimulatedDevice) throws {
        guard device.life == nil else { return }
        // The server signs the device in, and may be crashing.
        guard let transport = try ask({ try transport(device) }) else {
            return agenda.after(5) { self.attempt { try self.boot(device) } }
        }
        say("\(device.name) boots as \(device.user) with version \(device.version)\(device.kind.suffix)")
        if let edit = try device.boot(transport) {
            say("\(device.name) finds its last save")
            acknowledge(edit, by: device)
        }
    }
}
