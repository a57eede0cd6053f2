// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// G10: whether ten times as many rows take ten times as long.
struct Linearity {
    let small: Posts
    let large: Posts
    let rounds: Int
    let note: (String) -> Void

    static let limit = 1.3

    /// One verdict for each work that handles every row.
    func verdicts() throws -> [Verdict] {
        try zip(Self.works(small), Self.works(large)).map { smaller, larger in
            note("G10 \(larger.id) \(larger.title)")
            let runner = Runner(rounds: 1, note: { _ in })
            var ratios: [Double] = []
            var times: [(small: Double, large: Double)] = []
            for _ in 0..<rounds {
                guard let short = try runner.measure(smaller).median(Entrant.tarn), let long = try runner.measure(larger).median(Entrant.tarn)
                else { continue }
                times.append((short, long))
                ratios.append(long / (10 * short))
            }
            return Verdict(
                work: "G10 \(larger.id) \(larger.title)", unit: "ms", ours: Measurement.median(times.map(\.large)) ?? .nan,
                anchor: 10 * (Measurement.median(times.map(\.small)) ?? .nan), anchorName: "10 × \(small.rows.count) rows",
                ratio: Measurement.median(ratios) ?? .nan, goal: Self.limit)
        }
    }

    private static func works(_ posts: Posts) -> [Work] {
        let works = [Inserting.work(posts)] + Reading.works(posts) + LookingUp.works(posts) + Finding.works(posts) + Changing.works(posts)
        return works.filter { if case .milliseconds = $0.unit { true } else { false } }.map { work in
            Work(
                id: work.id, title: work.title, unit: work.unit, repeats: work.repeats,
                entrants: work.entrants.filter { $0.name == Entrant.tarn })
        }
    }
}
