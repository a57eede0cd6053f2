// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Lines of columns, wide enough for what stands in them.
struct Table {
    private var rows: [[String]]

    init(_ header: String...) { rows = [header] }

    mutating func add(_ cells: String...) { rows.append(cells) }

    var text: String {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let cells = row.indices.map { column in
                let padding = String(repeating: " ", count: widths[column] - row[column].count)
                // Names stand at the left, numbers at the right.
                return column == 0 ? row[column] + padding : padding + row[column]
            }
            return cells.joined(separator: "  ")
        }.joined(separator: "\n") + "\n"
    }

    /// Every entrant of every work.
    static func of(_ measurements: [Measurement]) -> Table {
        var table = Table("work", "entrant", "median", "p99", "÷ anchor", "unit")
        for measurement in measurements {
            let entrants = measurement.work.entrants
            let anchor = (entrants.first { $0.name == Entrant.sqlite } ?? entrants.dropFirst().first)?.name ?? ""
            for entrant in entrants {
                guard let median = measurement.median(entrant.name) else { continue }
                table.add(
                    "\(measurement.work.id) \(measurement.work.title)", entrant.name, format(median),
                    measurement.tail(entrant.name).map(format) ?? "",
                    measurement.ratio(entrant.name, to: anchor).map(format) ?? "", measurement.work.unit.name)
            }
        }
        return table
    }

    /// Every goal.
    static func of(_ verdicts: [Verdict]) -> Table {
        var table = Table("goal", "ours", "anchor", "unit", "of", "ratio", "goal", "met")
        for verdict in verdicts {
            table.add(
                verdict.work, format(verdict.ours), format(verdict.anchor), verdict.unit, verdict.anchorName, format(verdict.ratio),
                format(verdict.goal), verdict.met ? "yes" : "no")
        }
        return table
    }

    static func format(_ value: Double) -> String {
        String(format: value < 0.1 ? "%.4f" : value < 10 ? "%.2f" : value < 100 ? "%.1f" : "%.0f", value)
    }
}
