// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Something to be timed, done by several entrants in turn.
struct Work {
    /// As the list of works names it: `L1`.
    let id: String
    let title: String
    var unit = Unit.milliseconds
    /// How often an entrant repeats it within a round; the best counts.
    var repeats = 1
    /// Rounds are fewer where one takes seconds.
    var roundsMax = Int.max
    /// Whether a first round fills caches and is not counted.
    var warmsUp = true
    let entrants: [Entrant]

    enum Unit {
        /// The time of the whole.
        case milliseconds
        /// The time of one of so many.
        case nanoseconds(each: Int)
        /// The median of the times that the entrant took by itself.
        case microseconds
        /// A measurement of the entrant's own; steps that it timed as well are shown by their 99th percentile.
        case own(String)

        var name: String {
            switch self {
            case .milliseconds: "ms"
            case .nanoseconds: "ns"
            case .microseconds: "µs"
            case .own(let name): name
            }
        }
    }
}

/// A participant in a workload.
struct Entrant {
    let name: String
    /// Makes ready for one repetition. Not timed.
    let prepare: () throws -> Trial

    static let tarn = "Tarn"
    static let sqlite = "C"
    static let grdbClass = "GRDB class"
    static let grdbRecord = "GRDB record"

    init(_ name: String, prepare: @escaping () throws -> Trial) {
        self.name = name
        self.prepare = prepare
    }
}

/// One repetition, ready to go.
struct Trial {
    /// Conditions of the connection that writes; nil for a workload that only reads.
    let conditions: WritingConditions?
    /// The only part that is timed.
    let run: () throws -> Outcome
    /// Cleans up. Not timed.
    let finish: () throws -> Void

    init(
        conditions: WritingConditions? = nil, run: @escaping () throws -> Outcome, finish: @escaping () throws -> Void = {}
    ) {
        self.conditions = conditions
        self.run = run
        self.finish = finish
    }
}

struct Outcome {
    /// The same for every entrant, or one of them did not do the work.
    let check: Int
    /// Times of single steps, where they are what counts.
    var samples: [Duration] = []
    /// A measurement that is not a time.
    var measured: Double?
    /// Lives until the clock has stopped, so that the deallocation of results is not measured.
    var results: Any?
}
