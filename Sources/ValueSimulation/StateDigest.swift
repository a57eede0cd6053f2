// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import SystemSupport

/// A digest of the final states of runs, in any order of seeds. A change that makes runs faster must not change it.
package struct StateDigest: Sendable {
    package private(set) var value: UInt64 = 0

    package init() {}

    package mutating func add(_ other: StateDigest) { value &+= other.value }

    mutating func add(_ world: FeatureWorld) { add(world.devices, world.cloud.zones.sorted { $0.key < $1.key }.map(\.value)) }

    mutating func add(_ world: DeviceWorld) { add([world.first, world.second], [world.server]) }

    mutating func add(_ world: UniqueWorld) { add(world.replicas, [world.server]) }

    mutating func add(_ world: VersionWorld) { add(world.devices, [world.server]) }

    private mutating func add(_ devices: [Replica], _ servers: [ServerModel]) {
        var fingerprint = Fingerprint()
        for text in devices.map(\.stateText) + servers.map(\.stateText) { fingerprint.combine(text.utf8) }
        value &+= fingerprint.value
    }
}

extension Replica {
    /// Objects, and how many transactions, rows, names and conflicts led to them.
    fileprivate var stateText: String { "\(dump)\n\(device) \(lastTransaction) \(lastPrimaryKey) \(lastName) \(conflicts.count)\n" }
}

extension ServerModel {
    /// Records with their versions, which count the server's operations.
    fileprivate var stateText: String {
        records.values.sorted { $0.recordName < $1.recordName }.map { record in
            let fields = record.fields.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            return "\(record.recordName) \(record.recordChangeTag ?? "") \(fields.joined(separator: " "))\n"
        }.joined()
    }
}
