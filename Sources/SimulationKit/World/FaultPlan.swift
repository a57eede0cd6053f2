// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The kinds of faults of a run.
package struct FaultPlan: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        /// Requests and responses that are lost.
        case loss
        /// Requests that arrive twice.
        case doubling
        /// Requests and notifications that take minutes, so that later ones overtake them, even after the sender's
        /// timeout.
        case delay
        /// Devices without a network, and connections that break.
        case cuts
        /// The server stops, and restarts with its committed data.
        case restarts
        /// Devices that are killed in the middle of a write.
        case kills
        /// Devices with clocks that are days off.
        case skew
        /// The server no longer knows a device's change token.
        case tokens
        case throttling
        /// The user's quota is exceeded for a while.
        case quota
        /// Responses that are truncated, or another program's.
        case garbage
        /// The user deletes the zone.
        case purge
        /// Another user signs in on a device.
        case accounts
        /// Some devices have a later version of the model, and others get it during the run.
        case versions
        /// The server's disk fails in the middle of a write, and the server crashes.
        case crashes
    }

    /// Later kinds draw from their own stream of numbers, so that existing seeds keep their runs.
    private static let later: Set<Kind> = [.crashes]

    package var kinds: Set<Kind>

    /// Each kind is in every third run. Kinds that weaken the reference model are in fewer.
    init(_ random: inout SeededNumbers, seed: UInt64, with included: Set<Kind> = [], without excluded: Set<Kind>) {
        kinds = []
        var own = SeededNumbers(seed: ~seed)
        if own.percent(30) { kinds.insert(.crashes) }
        for kind in Kind.allCases where !Self.later.contains(kind) {
            let chance =
                switch kind {
                case .purge, .accounts: 12
                case .versions, .quota: 20
                case .kills, .loss, .delay, .cuts: 45
                case .doubling, .restarts, .skew, .tokens, .throttling, .garbage, .crashes: 33
                }
            if random.percent(chance) { kinds.insert(kind) }
        }
        kinds.formUnion(included)
        kinds.subtract(excluded)
    }

    package var description: String { kinds.map(\.rawValue).sorted().joined(separator: " ") }
}

/// The fate of one request.
enum Fate: Equatable {
    case delivered
    case requestLost
    case answerLost
    case doubled
    /// It arrives after the sender's timeout.
    case late
    case throttled(seconds: Double)
    case busy
    case full
    case tokenExpired
    case half
    case webPage

    static func draw(_ faults: FaultPlan, _ random: inout SeededNumbers) -> Fate {
        // One draw for each kind, active or not, so that the removal of a kind does not change the others.
        let draws = (0..<9).map { _ in Int.random(in: 0..<1000, using: &random) }
        func happens(_ kind: FaultPlan.Kind, _ index: Int, _ perMille: Int) -> Bool {
            faults.kinds.contains(kind) && draws[index] < perMille
        }
        if happens(.loss, 0, 60) { return .requestLost }
        if happens(.loss, 1, 80) { return .answerLost }
        if happens(.doubling, 2, 150) { return .doubled }
        if happens(.delay, 3, 60) { return .late }
        if happens(.throttling, 4, 80) { return .throttled(seconds: Double(draws[4] % 40 + 1)) }
        if happens(.throttling, 5, 40) { return .busy }
        if happens(.tokens, 6, 60) { return .tokenExpired }
        if happens(.garbage, 7, 30) { return .half }
        if happens(.garbage, 8, 20) { return .webPage }
        return .delivered
    }
}
