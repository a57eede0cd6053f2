// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import Foundation
import Synchronization

/// The calls of blocks, in order.
final class CallbackLog: Sendable {
    private let lines = Mutex<[String]>([])
    private let values = Mutex<[CKRecord]>([])

    func add(_ line: String) { lines.withLock { $0.append(line) } }
    func add(_ record: CKRecord) { values.withLock { $0.append(record) } }
    var all: [String] { lines.withLock { $0 } }
    var records: [CKRecord] { values.withLock { $0 } }
}

extension CKOperation {
    func longLived(_ quality: QualityOfService? = nil) -> Self {
        configuration.isLongLived = true
        if let quality { configuration.qualityOfService = quality }
        return self
    }

    /// Restarts a device when the operation was persisted, before its first request.
    func restarting(_ device: TestDevice, _ more: @escaping @Sendable () -> Void = {}) -> Self {
        longLivedOperationWasPersistedBlock = {
            more()
            device.restart()
        }
        return self
    }
}

extension CKModifyRecordsOperation {
    func logging(to callbacks: CallbackLog) -> Self {
        perRecordSaveBlock = { id, result in
            callbacks.add("\(id.recordName) \(word(result))")
            if case .success(let record) = result { callbacks.add(record) }
        }
        perRecordDeleteBlock = { id, result in callbacks.add("-\(id.recordName) \(word(result))") }
        modifyRecordsResultBlock = { callbacks.add("end \(word($0))") }
        return self
    }
}

/// `ok`, or the code of the error.
func word<Value>(_ result: Result<Value, any Error>) -> String {
    switch result {
    case .success: "ok"
    case .failure(let error): (error as? CKError).map { "\($0.code)" } ?? "\(error)"
    }
}

extension TestDevice {
    var database: CKDatabase { container.privateCloudDatabase }

    /// Adds an operation and waits for its end. After a restart it ends without a call of its blocks.
    func run(_ operation: CKOperation) async {
        // The block that the framework calls when it has forgotten the operation is the queue's own.
        let end = End(operation)
        if let operation = operation as? CKDatabaseOperation { database.add(operation) } else { container.add(operation) }
        await end.wait()
    }

    func kept() async throws -> CKOperation? {
        guard let id = try await container.allLongLivedOperationIDs().first else { return nil }
        return try await container.longLivedOperation(for: id)
    }

    func asked(_ operation: String) -> Int { requests.count { $0 == operation } }
}

/// The end of an operation, by an operation that depends on it.
private struct End: @unchecked Sendable {
    private let after = BlockOperation {}

    init(_ operation: CKOperation) { after.addDependency(operation) }

    func wait() async {
        await withCheckedContinuation { continuation in
            after.completionBlock = { continuation.resume() }
            OperationQueue().addOperation(after)
        }
    }
}
