// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import MirroringCore

extension MirrorCloud {
    /// Assets that are on their way at the same time.
    static let transfersMax = 8
    /// Bytes of an asset from which on it comes by way of a file. The file is mapped: the system reads it as it is needed and
    /// may forget what it has read.
    static let mappedBytesMin: Int64 = 4_000_000

    func download(_ needs: [ImportNeeds.AssetNeed]) async throws -> [(AssetValue, Data)] {
        try await inParallel(needs, atMost: Self.transfersMax) { need in
            if need.asset.size >= Self.mappedBytesMin, !need.isEncrypted { return (need.asset, try await mapped(need.asset)) }
            let bytes = try await client.downloadAsset(need.asset)
            // What is sealed is one piece, which is opened as one.
            return (need.asset, Data(need.isEncrypted ? try sealer.open(bytes, of: need.recordName, need.field) : bytes))
        }
    }

    /// The content of an asset in a file that has no name any more: it goes with the last one who has it.
    private func mapped(_ asset: AssetValue) async throws -> Data {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("tarn-import-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try await client.downloadAsset(asset, to: file)
        do {
            return try Data(contentsOf: file, options: .alwaysMapped)
        } catch {
            throw CloudFailure(.assetNotAvailable, "an asset could not be read back from the disk")
        }
    }
}

/// Does something with each of many, some at the same time.
///
/// - Returns: Results in the order of the items.
/// - Throws: What the first failure throws; the others are cancelled.
func inParallel<Item: Sendable, Output: Sendable>(
    _ items: [Item], atMost width: Int, _ body: @escaping @Sendable (Item) async throws -> Output
) async throws -> [Output] {
    if items.count < 2 {
        var outputs: [Output] = []
        for item in items { outputs.append(try await body(item)) }
        return outputs
    }
    return try await withThrowingTaskGroup(of: (Int, Output).self) { group in
        var outputs: [Output?] = Array(repeating: nil, count: items.count)
        func start(_ index: Int) { group.addTask { (index, try await body(items[index])) } }
        for index in 0..<min(width, items.count) { start(index) }
        var next = min(width, items.count)
        while let (index, output) = try await group.next() {
            outputs[index] = output
            if next < items.count { start(next) }
            next += 1
        }
        return outputs.compactMap(\.self)
    }
}
