// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// A model as SVG: entities in a grid, the most connected ones in its middle rows, and a line per relationship.
struct ModelDrawing {
    private struct Box {
        var node: ModelGraph.Node
        var x = 0
        var y = 0
        var width: Int
        var height: Int

        var centre: (x: Double, y: Double) { (Double(x) + Double(width) / 2, Double(y) + Double(height) / 2) }

        /// Returns `true` if a segment crosses a diagonal of the box and its margin.
        func isCrossed(from a: (x: Double, y: Double), to b: (x: Double, y: Double)) -> Bool {
            let (left, right, top, bottom) = (Double(x) - 8, Double(x + width) + 8, Double(y) - 8, Double(y + height) + 8)
            return ModelDrawing.crosses(a, b, (left, top), (right, bottom)) || ModelDrawing.crosses(a, b, (left, bottom), (right, top))
        }

        /// The point where a line from the centre to another point leaves the box.
        func border(towards point: (x: Double, y: Double)) -> (x: Double, y: Double) {
            let (dx, dy) = (point.x - centre.x, point.y - centre.y)
            guard dx != 0 || dy != 0 else { return centre }
            let scale = min(
                dx == 0 ? .infinity : Double(width) / 2 / abs(dx), dy == 0 ? .infinity : Double(height) / 2 / abs(dy))
            return (centre.x + dx * scale, centre.y + dy * scale)
        }
    }

    // Pixels. Texts are measured by the widest letters of a monospaced font.
    private static let letterWidth = 7
    private static let lineHeight = 18
    private static let headHeight = 28
    private static let padding = 10
    private static let gap = (x: 180, y: 70)

    private let boxes: [Box]
    private let edges: [ModelGraph.Edge]
    private let parents: [(child: String, parent: String)]

    init(_ graph: ModelGraph) {
        edges = graph.edges
        parents = graph.nodes.compactMap { node in node.parent.map { (node.name, $0) } }
        let boxes = Self.ordered(graph).map { node in
            let texts = [node.name] + node.attributes.map { "\($0.name)  \($0.type)!" }
            let width = (texts.map(\.count).max() ?? 0) * Self.letterWidth + 2 * Self.padding
            return Box(
                node: node, width: max(width, 110),
                height: Self.headHeight + node.attributes.count * Self.lineHeight + (node.attributes.isEmpty ? 0 : 8))
        }
        self.boxes = Self.untangled(
            boxes, graph.edges.map { ($0.source.entity, $0.destination.entity) } + parents.map { ($0.child, $0.parent) })
    }

    // MARK: Places

    private typealias Point = (x: Double, y: Double)

    /// Models with more entities keep their entities' order.
    private static let untangledMax = 40

    /// Exchanges boxes as long as that leads to fewer lines behind boxes, fewer crossings and shorter lines. Deterministic.
    private static func untangled(_ boxes: [Box], _ links: [(String, String)]) -> [Box] {
        guard boxes.count > 2, boxes.count <= untangledMax else { return placed(boxes) }
        var (best, bestCost) = (boxes, cost(placed(boxes), links))
        for _ in 0..<3 {
            let before = bestCost
            for first in best.indices {
                for second in best.indices where second > first {
                    var trial = best
                    trial.swapAt(first, second)
                    let trialCost = cost(placed(trial), links)
                    if trialCost < bestCost { (best, bestCost) = (trial, trialCost) }
                }
            }
            if bestCost == before { break }
        }
        return placed(best)
    }

    private static func cost(_ boxes: [Box], _ links: [(String, String)]) -> Int {
        let byName = Dictionary(keepingFirst: boxes.map { ($0.node.name, $0) })
        var (lines, cost) = ([(Point, Point)](), 0)
        for (source, destination) in links where source != destination {
            guard let from = byName[source], let to = byName[destination] else { continue }
            let (a, b) = (from.centre, to.centre)
            cost += Int(abs(a.x - b.x) + abs(a.y - b.y)) / 20
            cost += 400 * boxes.count { $0.node.name != source && $0.node.name != destination && $0.isCrossed(from: a, to: b) }
            cost += 100 * lines.count { crosses($0.0, $0.1, a, b) }
            lines.append((a, b))
        }
        return cost
    }

    /// Returns `true` if the segments a–b and c–d have an inner point in common.
    private static func crosses(_ a: Point, _ b: Point, _ c: Point, _ d: Point) -> Bool {
        func side(_ a: Point, _ b: Point, _ point: Point) -> Double { (b.x - a.x) * (point.y - a.y) - (b.y - a.y) * (point.x - a.x) }
        return side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0
    }

    /// Neighbours next to each other: breadth first, from the entity with the most lines.
    private static func ordered(_ graph: ModelGraph) -> [ModelGraph.Node] {
        var neighbours: [String: [String]] = [:]
        func connect(_ a: String, _ b: String) {
            neighbours[a, default: []].append(b)
            neighbours[b, default: []].append(a)
        }
        for edge in graph.edges { connect(edge.source.entity, edge.destination.entity) }
        for node in graph.nodes { if let parent = node.parent { connect(node.name, parent) } }
        let byDegree = graph.nodes.sorted { (neighbours[$0.name]?.count ?? 0, $1.name) > (neighbours[$1.name]?.count ?? 0, $0.name) }
        var (order, seen) = ([String](), Set<String>())
        for start in byDegree where seen.insert(start.name).inserted {
            var queue = [start.name][...]
            while let name = queue.popFirst() {
                order.append(name)
                for next in (neighbours[name] ?? []).sorted() where seen.insert(next).inserted { queue.append(next) }
            }
        }
        let nodes = Dictionary(keepingFirst: graph.nodes.map { ($0.name, $0) })
        return order.compactMap { nodes[$0] }
    }

    private static func placed(_ boxes: [Box]) -> [Box] {
        var columns = 1
        while columns * columns < boxes.count { columns += 1 }
        let widths = (0..<columns).map { column in boxes.indices.filter { $0 % columns == column }.map { boxes[$0].width }.max() ?? 0 }
        var (placed, y) = (boxes, gap.y / 2)
        for start in stride(from: 0, to: boxes.count, by: columns) {
            let row = start..<min(start + columns, boxes.count)
            let rowHeight = row.map { boxes[$0].height }.max() ?? 0
            // Every second box stands lower, below the lines between its neighbours.
            let shift = row.count > 2 ? rowHeight / 2 + 30 : 0
            var x = gap.x / 4 + (start / columns % 2) * gap.x / 3
            for index in row {
                (placed[index].x, placed[index].y) = (x, y + ((index - start) % 2) * shift)
                x += widths[index - start] + gap.x
            }
            y += rowHeight + shift + gap.y
        }
        return placed
    }

    var svg: String {
        let width = (boxes.map { $0.x + $0.width }.max() ?? 0) + Self.gap.x / 4
        let height = (boxes.map { $0.y + $0.height }.max() ?? 0) + Self.gap.y / 2
        var lines = [
            #"<svg xmlns="http://www.w3.org/2000/svg" width="\#(width)" height="\#(height)" viewBox="0 0 \#(width) \#(height)" role="img">"#,
            "<title>Data model: \(MarkupText.escaped(boxes.map(\.node.name).sorted().joined(separator: ", ")))</title>",
            """
            <style>
            svg { --paper: #ffffff; --ink: #1c1c1e; --faint: #6b6b70; --line: #3a6ea5; --head: #e6eef7; background: var(--paper) }
            @media (prefers-color-scheme: dark) { svg { --paper: #16181c; --ink: #f2f2f5; --faint: #a5a8b0; --line: #7fb2e5; --head: #26364a } }
            text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: var(--ink) }
            .name { font-weight: 600 } .type { fill: var(--faint); text-anchor: end } .end { fill: var(--faint); font-size: 11px; text-anchor: middle; stroke: var(--paper); stroke-width: 4px; paint-order: stroke }
            .box { fill: var(--paper); stroke: var(--line) } .head { fill: var(--head); stroke: var(--line) } .link { stroke: var(--line); fill: none }
            .parent { stroke: var(--faint); stroke-dasharray: 5 4; fill: none } .abstract { font-style: italic }
            </style>
            """,
        ]
        let byName = Dictionary(keepingFirst: boxes.map { ($0.node.name, $0) })
        for (child, parent) in parents {
            guard let from = byName[child], let to = byName[parent] else { continue }
            lines.append(Self.line(from.border(towards: to.centre), to.border(towards: from.centre), "parent"))
        }
        var ends: [String] = []
        for (index, edge) in edges.enumerated() {
            guard let from = byName[edge.source.entity], let to = byName[edge.destination.entity] else { continue }
            // Lines between the same two boxes stand side by side.
            let twins = edges[..<index].count {
                Set([$0.source.entity, $0.destination.entity]) == Set([edge.source.entity, edge.destination.entity])
            }
            if from.node.name == to.node.name {
                lines.append(Self.loop(from, twins))
                ends.append(
                    Self.end(
                        "\(edge.destination.name ?? "") / \(edge.source.name ?? "")",
                        (Double(from.x + from.width) + 10, Double(from.y) - 18 - Double(twins) * 14)))
                continue
            }
            let (start, stop) = (from.border(towards: to.centre), to.border(towards: from.centre))
            let step = Double((twins + 1) / 2 * (twins % 2 == 0 ? 1 : -1))
            let isFlat = abs(start.x - stop.x) > abs(start.y - stop.y)
            let (dx, dy) = isFlat ? (0, step * 22) : (step * 48, 0)
            let (a, b) = ((x: start.x + dx, y: start.y + dy), (x: stop.x + dx, y: stop.y + dy))
            lines.append(Self.line(a, b, "link"))
            ends.append(Self.end(Self.label(edge.destination), Self.point(a, b, 0.72 - Double(twins % 2) * 0.14)))
            ends.append(Self.end(Self.label(edge.source), Self.point(a, b, 0.28 + Double(twins % 2) * 0.14)))
        }
        for box in boxes { lines += Self.drawn(box) }
        return (lines + ends + ["</svg>"]).joined(separator: "\n") + "\n"
    }

    private static func label(_ end: ModelGraph.Edge.End) -> String { "\(end.name ?? "") \(end.isMany ? "∗" : "1")" }

    private static func point(_ a: (x: Double, y: Double), _ b: (x: Double, y: Double), _ share: Double) -> (x: Double, y: Double) {
        (a.x + (b.x - a.x) * share, a.y + (b.y - a.y) * share - 4)
    }

    private static func line(_ a: (x: Double, y: Double), _ b: (x: Double, y: Double), _ kind: String) -> String {
        #"<path class="\#(kind)" d="M\#(number(a.x)) \#(number(a.y)) L\#(number(b.x)) \#(number(b.y))"/>"#
    }

    private static func loop(_ box: Box, _ twins: Int) -> String {
        let (x, y, size) = (box.x + box.width, box.y, 26 + 12 * twins)
        return #"<path class="link" d="M\#(x - size) \#(y) v-12 h\#(size + 14) v\#(size + 12) h-14"/>"#
    }

    private static func end(_ text: String, _ place: (x: Double, y: Double)) -> String {
        #"<text class="end" x="\#(number(place.x))" y="\#(number(place.y))">\#(MarkupText.escaped(text))</text>"#
    }

    private static func drawn(_ box: Box) -> [String] {
        let name =
            #"<text class="name\#(box.node.isAbstract ? " abstract" : "")" x="\#(box.x + padding)" y="\#(box.y + 19)">\#(MarkupText.escaped(box.node.name))</text>"#
        let rows = box.node.attributes.enumerated().flatMap { index, attribute -> [String] in
            let y = box.y + headHeight + 16 + index * lineHeight
            return [
                #"<text x="\#(box.x + padding)" y="\#(y)">\#(MarkupText.escaped(attribute.name))</text>"#,
                #"<text class="type" x="\#(box.x + box.width - padding)" y="\#(y)">\#(MarkupText.escaped(attribute.type))\#(attribute.isRequired ? "!" : "")</text>"#,
            ]
        }
        return [
            #"<rect class="box" x="\#(box.x)" y="\#(box.y)" width="\#(box.width)" height="\#(box.height)" rx="6"/>"#,
            #"<rect class="head" x="\#(box.x)" y="\#(box.y)" width="\#(box.width)" height="\#(headHeight)" rx="6"/>"#, name,
        ] + rows
    }

    /// One digit after the point, so that a drawing is the same on every machine.
    private static func number(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(Double(tenths) / 10)"
    }
}
