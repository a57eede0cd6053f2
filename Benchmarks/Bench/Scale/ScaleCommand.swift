// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation

/// Times each phase of sync for each shape of objects at several sizes, and fits `time = a × size ^ exponent`. An
/// exponent above 1.15 is marked: that phase is not linear.
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
        print((["shape", "phase"] + sizes.map { "\($0)" } + ["exponent"]).joined(separator: "\t"))
        for shape in shapes {
            var times: [ScalePhase: [Double]] = [:]
            for size in sizes {
                var least: [ScalePhase: Double] = [:]
                for _ in 0..<rounds {
                    let folder = scratch.newFile().deletingPathExtension()
                    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                    least.merge(try ScaleRun(shape: shape, count: size, existing: existing, registers: view).times(in: folder), uniquingKeysWith: min)
                    try FileManager.default.removeItem(at: folder)
                }
                for (phase, time) in least { times[phase, default: []].append(time) }
            }
            for phase in ScalePhase.allCases {
                guard let measured = times[phase], measured.count == sizes.count else { continue }
                let exponent = sizes.count > 1 ? Self.exponent(sizes.map { Double($0) }, measured) : nil
                let mark = exponent.map { $0 > Self.exponentMax ? " !" : "" } ?? ""
                print(
                    ([shape.rawValue, phase.rawValue] + measured.map { String(format: "%.3f", $0) }
                        + [exponent.map { String(format: "%.2f", $0) + mark } ?? "–"]).joined(separator: "\t"))
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
