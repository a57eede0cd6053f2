// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKitTesting
import CoreData
import Foundation

/// The timed phases of a shape, in this order.
enum ScalePhase: String, CaseIterable, Sendable {
    case save
    /// From the end of the save until the server has all of it.
    case export
    /// On a device that has the existing objects.
    case importing = "import"
    /// On a device with an empty store.
    case firstImport = "first import"
    /// A save that changes every object, with its export.
    case update = "update"
    case updateImport = "update import"
    /// Both devices changed every object: the second one imports, merges and exports.
    case conflict
    /// A save that deletes objects.
    case deleteSave = "delete"
    case deleteExport = "delete export"
    case deleteImport = "delete import"
}

/// One shape at one size, with two devices and an engine in this process. Every result is checked.
struct ScaleRun {
    let shape: ScaleShape
    let count: Int
    /// Objects that were there, and synced, before.
    let existing: Int
    /// Whether the importing device's view context has all objects.
    let registers: Bool

    func costs(in folder: URL) throws -> [ScalePhase: ScaleCost] {
        var costs: [ScalePhase: ScaleCost] = [:]
        func timed(_ phase: ScalePhase, _ body: () throws -> Void) throws { costs[phase] = try ScaleCost.measured(body) }
        func check(_ isRight: Bool, _ what: String) throws {
            guard isRight else { throw CheckFailure(description: "\(shape.rawValue) \(count): \(what)") }
        }
        let cloud = try TestCloud()
        let other = shape == .shared ? "ben" : "mia"
        func device(_ name: String, _ account: String) throws -> ScaleDevice {
            try ScaleDevice(try blocking { try await cloud.device(name, account: account) }, shape, in: folder)
        }
        let first = try device("first", "mia"), second = try device("second", other)
        try first.sync()
        try second.sync()
        if shape == .shared { try first.shareParent(with: second) }
        if existing > 0 {
            try first.insert(0..<existing)
            try first.sync()
            try second.sync()
        }
        if registers { try second.registerAll() }
        second.container.pauseSyncing()

        let total = existing + count
        try timed(.save) { try first.insert(existing..<total) }
        try timed(.export) { try first.sync() }
        func syncSecond() throws {
            second.container.resumeSyncing()
            try second.sync()
        }
        try timed(.importing, syncSecond)
        try check(try second.count() == total, "import")
        if registers { try second.registerAll() }
        second.container.pauseSyncing()

        try timed(.firstImport) {
            let third = try device("third", other)
            try third.sync()
            try check(try third.count() == total, "first import")
            try third.close()
        }
        try timed(.update) {
            try first.update("updated")
            try first.sync()
        }
        try timed(.updateImport, syncSecond)
        try check(try second.titles() == ["updated"], "update")
        second.container.pauseSyncing()

        try second.update("second")
        try first.update("first")
        try first.sync()
        try timed(.conflict, syncSecond)
        try first.sync()
        try check(try first.titles() == second.titles(), "conflict")
        second.container.pauseSyncing()

        try timed(.deleteSave) { try first.delete(count / 2) }
        try timed(.deleteExport) { try first.sync() }
        try timed(.deleteImport, syncSecond)
        try check(try second.count() == total - count / 2, "delete")
        try first.close()
        try second.close()
        return costs
    }
}
