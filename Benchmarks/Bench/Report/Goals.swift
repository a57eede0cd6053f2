// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A goal of the project for one workload.
struct Goal {
    let id: String
    let work: String
    var entrant = Entrant.tarn
    let anchor: Anchor
    /// The ratio that must not be passed.
    let limit: Double

    enum Anchor {
        case entrant(String)
        /// One of the work's unit: the goal is absolute.
        case unit
    }

    /// The base column of the goals, as limits of times and bytes: a workload that has to be 20 times as fast as
    /// Kinto takes at most a twentieth. HTTP and SQLite alone are 69 and 40 times as fast as Kinto in S1 and S3, so without
    /// Kinto at hand they stand for it. R1 to R3 and M4 were set apart.
    static let all: [Goal] = [
        Goal(id: "G1", work: "L1", anchor: .entrant(Entrant.sqlite), limit: 2.0),
        Goal(id: "G2", work: "L1", entrant: Inserting.inBatch, anchor: .entrant(Entrant.sqlite), limit: 1.3),
        Goal(id: "G3", work: "L2", anchor: .entrant(Entrant.sqlite), limit: 1.5),
        Goal(id: "G4", work: "L2R", anchor: .entrant(Entrant.grdbClass), limit: 1.5),
        Goal(id: "G5", work: "L4", anchor: .entrant(Entrant.sqlite), limit: 4.0),
        Goal(id: "G5", work: "L4H", anchor: .unit, limit: 100),
        Goal(id: "G6", work: "L8", anchor: .entrant(Entrant.sqlite), limit: 1.5),
        Goal(id: "G6", work: "L9", anchor: .entrant(Entrant.sqlite), limit: 1.5),
        Goal(id: "G7", work: "L6", anchor: .entrant(Entrant.sqlite), limit: 1.10),
        Goal(id: "G7", work: "L7", anchor: .entrant(Entrant.sqlite), limit: 1.10),
        Goal(id: "G8", work: "L10", anchor: .entrant(Entrant.sqlite), limit: 3.0),
        Goal(id: "G8", work: "L10F", anchor: .entrant(Entrant.sqlite), limit: 1.3),
        Goal(id: "G9", work: "L1", entrant: Inserting.withHistory, anchor: .entrant(Entrant.tarn), limit: 1.8),
        Goal(id: "R1", work: "R1", anchor: .entrant(Entrant.sqlite), limit: 2.0),
        Goal(id: "R2", work: "R2", anchor: .entrant(Entrant.sqlite), limit: 10.0),
        Goal(id: "R3", work: "R3a", anchor: .entrant(Entrant.sqlite), limit: 5.0),
        Goal(id: "R3", work: "R3b", anchor: .entrant(Entrant.sqlite), limit: 3.0),
        Goal(id: "R3", work: "R3c", anchor: .unit, limit: 600),
        Goal(id: "R3", work: "R3d", anchor: .unit, limit: 250),
        Goal(id: "G11", work: "C1E", anchor: .entrant(Coding.foundation), limit: 1.0 / 7),
        Goal(id: "G11", work: "C1D", anchor: .entrant(Coding.foundation), limit: 1.0 / 7),
        Goal(id: "G12", work: "S1", anchor: .entrant(Serving.kinto), limit: 1.0 / 20),
        Goal(id: "G12", work: "S1", anchor: .entrant(Serving.bare), limit: 69.0 / 20),
        Goal(id: "G13", work: "S2", anchor: .entrant(Serving.kinto), limit: 1.0 / 100),
        Goal(id: "G13", work: "S2", anchor: .unit, limit: 1e6 / 20_000),
        Goal(id: "G14", work: "S3", anchor: .entrant(Serving.kinto), limit: 1.0 / 20),
        Goal(id: "G14", work: "S3", anchor: .entrant(Serving.bare), limit: 40.0 / 20),
        Goal(id: "G14", work: "S3L", anchor: .unit, limit: 2000),
        Goal(id: "G15", work: "S1W", anchor: .entrant(Serving.constant), limit: 4),
        Goal(id: "G16", work: "M3", anchor: .entrant(Waiting.roundTrip), limit: 12),
        Goal(id: "G17", work: "M2", anchor: .unit, limit: 1e6 / 20_000),
        Goal(id: "G18", work: "M1", anchor: .unit, limit: 1e6 / 10_000),
        Goal(id: "T1", work: "T1", anchor: .unit, limit: 20),
        Goal(id: "M4", work: "M4", anchor: .unit, limit: 20),
        Goal(id: "M5", work: "M5", anchor: .entrant(Linked.nothingThere), limit: 1.1),
        Goal(id: "G19", work: "B1D", anchor: .entrant(Carrying.sendfile), limit: 4),
        Goal(id: "G19", work: "B1U", anchor: .entrant(Carrying.write), limit: 1 / 0.7),
        Goal(id: "G20", work: "B1UC", anchor: .unit, limit: 48),
        Goal(id: "G20", work: "B1US", anchor: .unit, limit: 48),
        Goal(id: "G20", work: "B1DC", anchor: .unit, limit: 48),
        Goal(id: "G20", work: "B1DS", anchor: .unit, limit: 48),
        Goal(id: "B2", work: "B2S", anchor: .unit, limit: 48),
        Goal(id: "B2", work: "B2F", anchor: .unit, limit: 48),
        Goal(id: "B2", work: "B2SE", anchor: .unit, limit: 48),
        Goal(id: "B2", work: "B2FE", anchor: .unit, limit: 48),
        Goal(id: "P1", work: "P1", anchor: .unit, limit: 1000),
        Goal(id: "G21", work: "G21I", anchor: .unit, limit: 64),
        Goal(id: "G21", work: "G21B", anchor: .unit, limit: 128),
        Goal(id: "U1", work: "U1", anchor: .unit, limit: 200),
        Goal(id: "U2", work: "U2", anchor: .unit, limit: 128),
    ]

    /// - Returns: nil if the work was not measured.
    func verdict(_ measurements: [Measurement]) -> Verdict? {
        guard let measurement = measurements.first(where: { $0.work.id == work }), let ours = measurement.median(entrant) else {
            return nil
        }
        let unit = measurement.work.unit.name
        let who = entrant == Entrant.tarn ? "" : " (\(entrant))"
        let what = "\(id) \(work) \(measurement.work.title)\(who)"
        switch anchor {
        case .unit:
            return Verdict(work: what, unit: unit, ours: ours, anchor: 1, anchorName: "1 \(unit)", ratio: ours, goal: limit)
        case .entrant(let name):
            guard let theirs = measurement.median(name), let ratio = measurement.ratio(entrant, to: name) else { return nil }
            return Verdict(work: what, unit: unit, ours: ours, anchor: theirs, anchorName: name, ratio: ratio, goal: limit)
        }
    }
}

/// A goal after a run; also an entry of `results.json`.
struct Verdict: Encodable {
    let work: String
    let unit: String
    let ours: Double
    let anchor: Double
    let anchorName: String
    let ratio: Double
    let goal: Double
    let met: Bool

    init(work: String, unit: String, ours: Double, anchor: Double, anchorName: String, ratio: Double, goal: Double) {
        self.work = work
        self.unit = unit
        self.ours = ours.rounded(toDigits: 4)
        self.anchor = anchor.rounded(toDigits: 4)
        self.anchorName = anchorName
        self.ratio = ratio.rounded(toDigits: 4)
        self.goal = goal
        met = ratio <= goal
    }
}

extension Double {
    /// The significant digits of a measurement.
    func rounded(toDigits digits: Int) -> Double {
        guard self != 0, isFinite else { return self }
        var scale = 1.0
        var value = abs(self)
        while value < 1 { (value, scale) = (value * 10, scale * 10) }
        var left = digits - 1
        while value >= 10, left > 0 { (value, left) = (value / 10, left - 1) }
        for _ in 0..<left { scale *= 10 }
        return (self * scale).rounded() / scale
    }
}
