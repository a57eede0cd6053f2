// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import MirroringCore
import ObjectGraph
import Synchronization

/// Options of ``NSPersistentCloudKitContainer/initializeCloudKitSchema(options:)``. Raw values are Apple's.
public struct NSPersistentCloudKitContainerSchemaInitializationOptions: OptionSet, Sendable {
    /// The options as bits.
    public let rawValue: UInt
    /// Creates options from bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }
    /// Checks the model and makes the records, without a request to the server.
    public static let dryRun = Self(rawValue: 1 << 1)
    /// Prints the schema, in the language of schema files.
    public static let printSchema = Self(rawValue: 1 << 2)
}

extension NSPersistentCloudKitContainer {
    func initializeSchema(_ options: NSPersistentCloudKitContainerSchemaInitializationOptions) throws {
        let mirrors = allMirrors.filter { $0.file.scope != .shared }
        guard !mirrors.isEmpty else {
            throw CocoaError(
                .coreData,
                sentence: "No synced store is loaded; load one with cloudKitContainerOptions before its schema is initialised.")
        }
        for mirror in mirrors {
            let schema = CloudSchema(mirror.file.mapping)
            if options.contains(.printSchema) { environment.print(schema.text(isPublic: mirror.file.scope == .public)) }
            if options.contains(.dryRun) { continue }
            do {
                try Self.waiting { [environment] in
                    try await mirror.cloud.open().initialize(schema, makeName: environment.makeName)
                }
            } catch {
                let failure = CKError(CloudFailure(error))
                let sentence = "The schema of \(mirror.file.containerIdentifier) could not be initialised: \(failure.localizedDescription)"
                throw CocoaError(
                    .coreData, sentence: sentence, userInfo: [NSLocalizedFailureReasonErrorKey: sentence, NSUnderlyingErrorKey: failure])
            }
        }
    }

    private static func waiting(_ body: @escaping @Sendable () async throws -> Void) throws {
        let done = DispatchSemaphore(value: 0)
        let outcome = Mutex<Result<Void, any Error>>(.success(()))
        Task.detached {
            do { try await body() } catch { outcome.withLock { $0 = .failure(error) } }
            done.signal()
        }
        done.wait()
        try outcome.withLock { $0 }.get()
    }
}
