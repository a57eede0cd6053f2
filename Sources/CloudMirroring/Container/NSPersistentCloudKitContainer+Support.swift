// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ObjectGraph

extension NSPersistentCloudKitContainer {
    /// What somebody who helps needs to see of syncing, in one piece of JSON: for each store the status, counts by entity and
    /// stage, refusals with their reasons, how much history is read, the last 200 steps with their errors.
    ///
    ///     try container.supportBundle().write(to: url)
    ///
    /// It holds no values of attributes, no record names, no names of users, no change tokens and no keys.
    ///
    /// - Throws: ``CocoaError`` for a file that cannot be read.
    public func supportBundle() throws -> Data {
        struct Bundle: Encodable {
            struct Store: Encodable {
                var file: String
                var status: String
                var findings: MirrorFile.Findings
            }

            var written: Date
            var system: String
            var stores: [Store]
        }
        let stores = try allMirrors.map { mirror in
            Bundle.Store(
                file: mirror.store.url?.lastPathComponent ?? "", status: status(of: mirror).description,
                findings: try mirror.translated { try mirror.file.findings() })
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        encoder.dateEncodingStrategy = .iso8601
        return try encoder.encode(
            Bundle(written: surroundings.now(), system: ProcessInfo.processInfo.operatingSystemVersionString, stores: stores))
    }
}
