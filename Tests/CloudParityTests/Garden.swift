// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import Synchronization
import Testing

/// A private database with a zone.
func garden() async throws -> (database: CKDatabase, zoneID: CKRecordZone.ID) {
    let database = try await testContainer().privateCloudDatabase
    let zone = try await database.save(CKRecordZone(zoneName: "Garden"))
    return (database, zone.zoneID)
}

func plant(_ name: String, in zoneID: CKRecordZone.ID) -> CKRecord {
    CKRecord(recordType: "Plant", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
}

/// The messages of callbacks, in order.
final class CallbackLog: Sendable {
    private let entries = Mutex<[String]>([])

    func add(_ entry: String) { entries.withLock { $0.append(entry) } }
    var all: [String] { entries.withLock { $0 } }
}

/// The values that callbacks received, in order.
final class ReceivedValues<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    func add(_ value: Value) { values.withLock { $0.append(value) } }
    var all: [Value] { values.withLock { $0 } }
}

/// Runs an operation that must fail, and returns its error.
func failure<Value>(_ body: () async throws -> Value) async -> CKError? {
    do {
        _ = try await body()
        Issue.record("no error was thrown")
        return nil
    } catch {
        let error = error as? CKError
        #expect(error != nil)
        return error
    }
}

/// Adds an operation and waits until it is finished.
func finish(_ operation: CKDatabaseOperation, on database: CKDatabase) async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        operation.completionBlock = { continuation.resume() }
        database.add(operation)
    }
}

func archived<Value: NSObject & NSSecureCoding>(_ value: Value) throws -> Value? {
    let data = try NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: true)
    return try NSKeyedUnarchiver.unarchivedObject(ofClass: Value.self, from: data)
}
