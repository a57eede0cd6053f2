// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation

/// Times each phase of sync for each shape of objects at several sizes, and fits `cost = a × size ^ exponent` to the time that processors
/// took and to the steps of SQLite. An exponent above 1.15 is marked: that phase is not linear.
struct ScaleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scale", abstract: "Time save, export, import, update, conflict and deletion of each shape at several sizes.")

    static let exponentMax = 1.15

    @Option(help: "Numbers of objects: 1000,2000,4000.")
    var sizes = "1000,2000,4000,8000"

    @Option(help: "Only these shapes: tagged,ordered.")
    var shapes: String?

    @Option(help: "How many objects are there, and synced, before.")
    var existing = 0

    @Option(help: "Repetitions; the least time counts.")
    var rounds = 1

    @Flag(help: "Register all objects in the view context of the importing device.")
    var view = false

    func run() throws {
        let sizes = sizes.split(separator: ",").compactMap { Int($0) }
        guard !sizes.isEmpty, sizes.allSatisfy({ $0 >= 10 }) else { throw ValidationError("Sizes are numbers from 10 on.") }
        let names = shapes.map { $0.split(separator: ",").map(String.init) } ?? ScaleShape.allCases.map(\.rawValue)
        let shapes = try names.map { name in
            guard let shape = ScaleShape(rawValue: name) else {
                throw ValidationError("No shape “\(name)”. Choose from \(ScaleShape.allCases.map(\.rawValue).joined(separator: ", ")).")
            }
            return shape
        }
        let scratch = try Scratch()
        SQLiteSteps.install()
        print((["shape", "phase"] + sizes.map { "\($0)" } + ["exponent", "steps/object", "exponent", "scanned"]).joined(separator: "\t"))
        for shape in shapes {
            var costs: [ScalePhase: [ScaleCost]] = [:]
            for size in sizes {
                var least: [ScalePhase: ScaleCost] = [:]
                for _ in 0..<rounds {
                    let folder = scratch.newFile().deletingPathExtension()
                    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                    least.merge(
                        try ScaleRun(shape: shape, count: size, existing: existing, registers: view).costs(in: folder),
                        uniquingKeysWith: ScaleCost.least)
                    try FileManager.default.removeItem(at: folder)
                }
                for (phase, cost) in least { costs[phase, default: []].append(cost) }
            }
            for phase in ScalePhase.allCases {
                guard let measured = costs[phase], measured.count == sizes.count, let last = measured.last, let size = sizes.last else {
                    continue
                }
                func exponent(_ costs: [Double]) -> String {
                    guard sizes.count > 1 else { return "–" }
                    let exponent = Self.exponent(sizes.map { Double($0) }, costs)
                    return String(format: "%.2f", exponent) + (exponent > Self.exponentMax ? " !" : "")
                }
                print(
                    ([shape.rawValue, phase.rawValue] + measured.map { String(format: "%.3f", $0.processor) }
                        + [
                            exponent(measured.map(\.processor)), String(format: "%.0f", last.steps / Double(size)),
                            exponent(measured.map(\.steps)),
                            String(format: "%.0f", last.scanned),
                        ]).joined(separator: "\t"))
            }
            fflush(nil)
        }
    }

    /// The slope of the line of least squares through the logarithms.
    static func exponent(_ sizes: [Double], _ times: [Double]) -> Double {
        let points = zip(sizes, times).map { (x: log($0), y: log(max($1, 1e-6))) }
        let count = Double(points.count)
        let x = points.reduce(0) { $0 + $1.x } / count, y = points.reduce(0) { $0 + $1.y } / count
        let above = points.reduce(0) { $0 + ($1.x - x) * ($1.y - y) }, below = points.reduce(0) { $0 + ($1.x - x) * ($1.x - x) }
        return above / below
    }
}
