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
            let runner = Runner(rounds: 1, warmsUp: false, note: { _ in })
            var short = Measurement(work: smaller)
            var long = Measurement(work: larger)
            for _ in 0..<rounds {
                short.append(try runner.measure(smaller))
                long.append(try runner.measure(larger))
            }
            let ours = Self.growth(Entrant.tarn, short, long)
            // The share of the machine and of SQLite: larger files and heaps miss more caches.
            let theirs = Table.format(Self.growth(Entrant.sqlite, short, long))
            return Verdict(
                work: "G10 \(larger.id) \(larger.title)", unit: "ms", ours: long.median(Entrant.tarn) ?? .nan,
                anchor: 10 * (short.median(Entrant.tarn) ?? .nan), anchorName: "10 × \(small.rows.count) rows (C: \(theirs))",
                ratio: ours, goal: Self.limit)
        }
    }

    private static func growth(_ entrant: String, _ short: Measurement, _ long: Measurement) -> Double {
        Measurement.median(zip(short.values[entrant] ?? [], long.values[entrant] ?? []).map { $1 / (10 * $0) }) ?? .nan
    }

    private static func works(_ posts: Posts) -> [Work] {
        let works = [Inserting.work(posts)] + Reading.works(posts) + LookingUp.works(posts) + Finding.works(posts) + Changing.works(posts)
        return works.filter { if case .milliseconds = $0.unit { true } else { false } }.map { work in
            Work(
                id: work.id, title: work.title, unit: work.unit, repeats: work.repeats,
                entrants: work.entrants.filter { $0.name == Entrant.tarn || $0.name == Entrant.sqlite })
        }
    }
}
