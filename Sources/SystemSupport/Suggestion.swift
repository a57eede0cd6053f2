// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The nearest of the known names, for an unknown one.
package enum Suggestion {
    /// ` Did you mean 'serve'?`, or nothing if no name is near.
    package static func sentence(for name: String, among names: some Sequence<String>) -> String {
        nearest(to: name, among: names).map { " Did you mean '\($0)'?" } ?? ""
    }

    /// - Returns: The name at the smallest distance, at most a third of the letters; the first of several in their order.
    package static func nearest(to name: String, among names: some Sequence<String>) -> String? {
        let limit = max(1, min(name.count, 64) / 3)
        var best: (name: String, distance: Int)?
        // A very long text resembles none.
        guard name.count <= 256 else { return nil }
        for candidate in names where abs(candidate.count - name.count) <= limit {
            let distance = distance(name.lowercased(), candidate.lowercased())
            if distance <= limit, distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.name
    }

    /// The edit distance of two texts: insertions, deletions, substitutions and transpositions.
    package static func distance(_ a: String, _ b: String) -> Int {
        let (a, b) = (Array(a), Array(b))
        var rows = [Array(0...b.count)]
        for i in 1..<(a.count + 1) {
            var row = [i]
            for j in 1..<(b.count + 1) {
                var cost = min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
                if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] { cost = min(cost, rows[i - 2][j - 2] + 1) }
                row.append(cost)
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }
}
