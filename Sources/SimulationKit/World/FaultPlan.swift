// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Which kinds of faults a run has.
package struct FaultPlan: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        /// Requests and answers that never come.
        case loss
        /// Requests that arrive twice.
        case doubling
        /// Requests and notifications that take minutes, so that later ones overtake them, also after whoever sent them gave up.
        case delay
        /// Devices without a network, and connections that break.
        case cuts
        /// The server goes down and comes back with what it has written.
        case restarts
        /// Devices that stop in the middle of a write.
        case kills
        /// Devices whose clocks are days off.
        case skew
        /// The server no longer knows a device's point in the changes.
        case tokens
        case throttling
        /// The user's storage is full for a while.
        case quota
        /// Answers that are cut short, or another program's.
        case garbage
        /// The user deletes the zone.
        case purge
        /// Another user signs in on a device.
        case accounts
        /// Some devices have a later version of the model, and others get it on the way.
        case versions
        /// The server's disk fails in the middle of a write, and the server dies of it.
        case crashes
    }

    /// Kinds that came later draw from numbers of their own, so that seeds stay what they were.
    private static let later: Set<Kind> = [.crashes]

    package var kinds: Set<Kind>

    /// Each kind is in every third run; what makes the reference model know less is in fewer.
    init(_ random: inout SeededNumbers, seed: UInt64, without excluded: Set<Kind>) {
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
        kinds.subtract(excluded)
    }

    package var description: String { kinds.map(\.rawValue).sorted().joined(separator: " ") }
}

/// What becomes of one request.
enum Fate: Equatable {
    case delivered
    case requestLost
    case answerLost
    case doubled
    /// It arrives after whoever sent it gave up.
    case late
    case throttled(seconds: Double)
    case busy
    case full
    case tokenExpired
    case half
    case webPage

    static func draw(_ faults: FaultPlan, _ random: inout SeededNumbers) -> Fate {
        // One draw for each kind, there or not, so that a kind can be taken away without changing all the rest.
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
