// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The durations of a workload, for each entrant, round by round.
struct Measurement {
    let work: Work
    /// One value per round, in the order of rounds: ratios are taken within a round.
    var values: [String: [Double]] = [:]
    /// The 99th percentile, where single steps were timed.
    var tails: [String: [Double]] = [:]

    mutating func append(_ other: Measurement) {
        values.merge(other.values) { $0 + $1 }
        tails.merge(other.tails) { $0 + $1 }
    }

    func median(_ entrant: String) -> Double? { Self.median(values[entrant] ?? []) }
    func tail(_ entrant: String) -> Double? { Self.median(tails[entrant] ?? []) }

    /// - Returns: The median of the rounds' ratios; nil when one of the two did not take part.
    func ratio(_ entrant: String, to anchor: String) -> Double? {
        guard let first = values[entrant], let second = values[anchor] else { return nil }
        return Self.median(zip(first, second).map { $0 / $1 })
    }

    static func median(_ values: [Double]) -> Double? {
        guard !values.isEmpty else { return nil }
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }
}

struct CheckFailure: Error, CustomStringConvertible {
    let description: String
}

/// Lets entrants take turns, A B A B, so that a busy machine is busy for all of them.
struct Runner {
    let rounds: Int
    /// Whether a first round fills caches and is not counted.
    var warmsUp = true
    let note: (String) -> Void

    /// - Throws: ``CheckFailure`` if entrants disagree on the result, or write under different conditions, and the errors of entrants.
    func measure(_ work: Work) throws -> Measurement {
        var measurement = Measurement(work: work)
        var check: Int?
        var conditions: (entrant: String, WritingConditions)?
        note("\(work.id) \(work.title)")
        for round in (warmsUp && work.warmsUp ? -1 : 0)..<min(rounds, work.roundsMax) {
            for entrant in work.entrants {
                var best: (value: Double, tail: Double?)?
                for _ in 0..<work.repeats {
                    let trial = try entrant.prepare()
                    if let own = trial.conditions {
                        if conditions == nil { conditions = (entrant.name, own) }
                        if let conditions, conditions.1 != own {
                            throw CheckFailure(
                                description: "\(work.id): \(entrant.name) writes with \(own), \(conditions.entrant) with \(conditions.1)")
                        }
                    }
                    let (outcome, time) = try run(trial)
                    if check == nil { check = outcome.check }
                    guard outcome.check == check else {
                        throw CheckFailure(description: "\(work.id): \(entrant.name) got \(outcome.check), not \(check ?? 0)")
                    }
                    let value = Self.value(outcome, time, work.unit)
                    if value.value < best?.value ?? .infinity { best = value }
                }
                guard round >= 0, let best else { continue }
                measurement.values[entrant.name, default: []].append(best.value)
                if let tail = best.tail { measurement.tails[entrant.name, default: []].append(tail) }
            }
        }
        return measurement
    }

    private func run(_ trial: Trial) throws -> (Outcome, Duration) {
        let clock = ContinuousClock()
        let start = clock.now
        let outcome = try trial.run()
        let time = clock.now - start
        try trial.finish()
        return (outcome, time)
    }

    private static func value(_ outcome: Outcome, _ time: Duration, _ unit: Work.Unit) -> (value: Double, tail: Double?) {
        switch unit {
        case .milliseconds: return (time.nanoseconds / 1e6, nil)
        case .nanoseconds(let count): return (time.nanoseconds / Double(count), nil)
        case .own: return (outcome.measured ?? .nan, outcome.samples.isEmpty ? nil : tail(outcome.samples))
        case .microseconds:
            let sorted = outcome.samples.sorted()
            precondition(!sorted.isEmpty, "a work in microseconds times its steps")
            return (sorted[sorted.count / 2].nanoseconds / 1e3, tail(sorted))
        }
    }

    /// In microseconds.
    private static func tail(_ samples: [Duration]) -> Double {
        samples.sorted()[samples.count * 99 / 100].nanoseconds / 1e3
    }
}

extension Duration {
    var nanoseconds: Double { Double(components.seconds) * 1e9 + Double(components.attoseconds) / 1e9 }
}
