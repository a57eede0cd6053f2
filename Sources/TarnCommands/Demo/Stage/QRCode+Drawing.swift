// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension QRCode {
    /// Modules of the light border that readers need.
    private static let quietZone = 4

    /// The code as a picture that scales, dark on white in light and dark pages.
    func svg(title: String) -> String {
        let side = size + 2 * Self.quietZone
        var path = ""
        for row in 0..<size {
            for column in 0..<size where self[row, column] {
                path += "M\(column + Self.quietZone) \(row + Self.quietZone)h1v1h-1z"
            }
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(side) \(side)" shape-rendering="crispEdges" role="img">\
            <title>\(MarkupText.escaped(title))</title><rect width="\(side)" height="\(side)" fill="#fff"/><path d="\(path)" fill="#000"/></svg>
            """
    }

    /// What readers find hard: long runs, blocks, patterns like a finder, and more dark than light or the reverse (section 7.8.3).
    var penalty: Int {
        var penalty = 0
        for line in 0..<size {
            penalty += Self.penalty(of: (0..<size).map { self[line, $0] }) + Self.penalty(of: (0..<size).map { self[$0, line] })
        }
        for row in 0..<size - 1 {
            for column in 0..<size - 1 {
                let color = self[row, column]
                if color == self[row, column + 1], color == self[row + 1, column], color == self[row + 1, column + 1] { penalty += 3 }
            }
        }
        let dark = modules.count { $0 }
        return penalty + abs(dark * 20 - modules.count * 10) / modules.count * 10
    }

    private static let finderLike: [[Bool]] = [
        [true, false, true, true, true, false, true, false, false, false, false],
        [false, false, false, false, true, false, true, true, true, false, true],
    ]

    private static func penalty(of line: [Bool]) -> Int {
        var (penalty, run) = (0, 0)
        for (index, color) in line.enumerated() {
            run = index > 0 && color == line[index - 1] ? run + 1 : 1
            if run == 5 { penalty += 3 } else if run > 5 { penalty += 1 }
        }
        for start in 0...line.count - 11 where finderLike.contains(Array(line[start..<start + 11])) { penalty += 40 }
        return penalty
    }
}
