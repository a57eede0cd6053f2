// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Everything that the page of the demo shows around the devices' own pages.
struct StageState: Encodable, Equatable, Sendable {
    enum Power: String, Encodable, Sendable { case off, starting, running, killed }

    struct DeviceState: Encodable, Equatable, Sendable {
        var name: DemoCast.Device
        var power: Power
        var processID: Int32?
        var address: String?
        /// `false` while the network of the device is cut.
        var isOnline: Bool
        var postCount: Int
        var pendingCount: Int
        var conflictCount: Int
        var phase: String
    }

    struct ServerState: Encodable, Equatable, Sendable {
        var power: Power
        var processID: Int32?
        var address: String
    }

    struct LogLine: Encodable, Equatable, Sendable {
        /// Steps of the tour are done by plugs that were pulled. A page that falls behind skips the state in which one is.
        enum Kind: String, Encodable, Sendable { case cut, kill, note }

        var kind: Kind
        /// Milliseconds since 1970.
        var time: Double
        var text: String
    }

    struct Verdict: Encodable, Equatable, Sendable {
        enum Kind: String, Encodable, Sendable { case inStep, syncing, apart }

        var kind: Kind
        var text: String
    }

    struct Guest: Encodable, Equatable, Sendable {
        /// `true` if a phone in the local network may open the page.
        var isShared: Bool
        /// The page's address, with its key.
        var link: String?
    }

    var devices: [DeviceState]
    var server: ServerState
    var journeys: [Journey]
    var requests: [ServerRequest]
    var log: [LogLine]
    var verdict: Verdict
    var guest: Guest
    /// The step of the tour that the demo performs itself at present.
    var performing: Int?
}

extension StageState.Verdict {
    /// Compares the devices of the pair.
    static func of(_ views: [DemoCast.Device: DeviceView], power: (DemoCast.Device) -> StageState.Power, isServerRunning: Bool) -> Self {
        for device in DemoCast.Device.pair {
            switch power(device) {
            case .killed: return Self(kind: .apart, text: "The \(device.rawValue) is not running. Its store has all of its saves.")
            case .off, .starting: return Self(kind: .syncing, text: "The \(device.rawValue) is starting.")
            case .running: break
            }
        }
        if !isServerRunning { return Self(kind: .apart, text: "The server is not running. Both devices go on working with their stores.") }
        let pair = DemoCast.Device.pair.map { (device: $0, view: views[$0] ?? DeviceView()) }
        for (device, view) in pair where !view.isOnline {
            let count = view.sync.pending
            let waiting = count == 0 ? "No change of it waits." : "\(count) of its records wait\(count == 1 ? "s" : "") to be sent."
            return Self(kind: .apart, text: "The \(device.rawValue) has no network. \(waiting)")
        }
        guard pair.allSatisfy({ $0.view.isSettled }), pair[0].view.content == pair[1].view.content else {
            return Self(kind: .syncing, text: "Changes are on their way.")
        }
        let count = pair[0].view.posts.count
        return Self(kind: .inStep, text: "Both devices show the same \(count == 1 ? "post" : "\(count) posts"). Nothing waits.")
    }
}
