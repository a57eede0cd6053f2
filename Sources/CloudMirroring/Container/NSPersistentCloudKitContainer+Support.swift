// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ObjectGraph

extension NSPersistentCloudKitContainer {
    /// Returns a JSON document for support: for each store the status, counts by entity and stage, rejections with their reasons, the
    /// history read so far, and the last 200 events with their errors.
    ///
    ///     try container.supportBundle().write(to: url)
    ///
    /// It contains no values of attributes, record names, user names, change tokens or keys.
    ///
    /// - Throws: `CocoaError` for a file that cannot be read.
    public func supportBundle() throws -> Data {
        struct Bundle: Encodable {
            struct Store: Encodable {
                var file: String
                var status: String
                var findings: SyncInspection.Findings
            }

            var written: Date
            var system: String
            var stores: [Store]
        }
        let stores = try allMirrors.map { mirror in
            Bundle.Store(
                file: mirror.store.url?.lastPathComponent ?? "", status: status(of: mirror).description,
                findings: try mirror.translated { try mirror.file.inspection.findings() })
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        encoder.dateEncodingStrategy = .iso8601
        return try encoder.encode(
            Bundle(written: environment.now(), system: ProcessInfo.processInfo.operatingSystemVersionString, stores: stores))
    }
}
