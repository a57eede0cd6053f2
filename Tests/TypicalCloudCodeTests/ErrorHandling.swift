// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation

// Code as apps have it that decides what to do about errors.

extension Error {
    /// The delay that the server asks for, whichever way the error comes.
    var retryDelay: TimeInterval? {
        let nsError = self as NSError
        guard nsError.domain == CKErrorDomain else { return nil }
        if let seconds = nsError.userInfo[CKErrorRetryAfterKey] as? NSNumber { return seconds.doubleValue }
        return nsError.userInfo[CKErrorRetryAfterKey] as? TimeInterval
    }

    var cloudCode: CKError.Code? {
        let nsError = self as NSError
        return nsError.domain == CKError.errorDomain ? CKError.Code(rawValue: nsError.code) : nil
    }
}

enum CloudProblem: Equatable {
    case offline, retryLater(TimeInterval?), signIn, quota, merge, zone, reset, split, notFound, fatal(Int)

    init(_ error: CKError) {
        switch error.code {
        case .networkUnavailable, .networkFailure, .serverResponseLost: self = .offline
        case .serviceUnavailable, .requestRateLimited, .zoneBusy: self = .retryLater(error.retryAfterSeconds)
        case .notAuthenticated, .accountTemporarilyUnavailable, .managedAccountRestricted: self = .signIn
        case .quotaExceeded: self = .quota
        case .serverRecordChanged: self = .merge
        case .zoneNotFound, .userDeletedZone: self = .zone
        case .changeTokenExpired: self = .reset
        case .limitExceeded: self = .split
        case .unknownItem: self = .notFound
        case .partialFailure:
            let codes = (error.partialErrorsByItemID ?? [:]).values.compactMap { ($0 as? CKError)?.code }
            self = codes.first { $0 != .batchRequestFailed }.map { CloudProblem(CKError($0)) } ?? .fatal(2)
        case .internalError, .badContainer, .missingEntitlement, .permissionFailure, .invalidArguments, .resultsTruncated,
            .serverRejectedRequest, .assetFileNotFound, .assetFileModified, .incompatibleVersion, .constraintViolation,
            .operationCancelled, .batchRequestFailed, .badDatabase, .tooManyParticipants, .alreadyShared, .referenceViolation,
            .participantMayNeedVerification, .assetNotAvailable, .participantAlreadyInvited:
            self = .fatal(error.errorCode)
        @unknown default: self = .fatal(error.errorCode)
        }
    }
}

final class Saver {
    let database: CKDatabase
    private(set) var attempts = 0

    init(_ database: CKDatabase) { self.database = database }

    /// Saves, adopts the server's record on a conflict, creates a missing zone, and splits too large requests.
    func save(_ records: [CKRecord], completion: @escaping (Result<[CKRecord], Error>) -> Void) {
        attempts += 1
        let operation = CKModifyRecordsOperation(recordsToSave: records, recordIDsToDelete: nil)
        operation.savePolicy = .ifServerRecordUnchanged
        operation.qualityOfService = .userInitiated
        operation.modifyRecordsCompletionBlock = { [weak self] saved, _, error in
            guard let self = self else { return }
            guard let error = error else { return completion(.success(saved ?? [])) }
            guard let ckError = error as? CKError else { return completion(.failure(error)) }
            switch ckError.code {
            case .partialFailure:
                guard let errors = ckError.userInfo[CKPartialErrorsByItemIDKey] as? [CKRecord.ID: Error] else {
                    return completion(.failure(error))
                }
                if errors.values.contains(where: { ($0 as? CKError)?.code == .zoneNotFound }) {
                    return self.makeZone(of: records, thenSave: completion)
                }
                guard errors.values.contains(where: { ($0 as? CKError)?.code == .serverRecordChanged }) else {
                    return completion(.failure(error))
                }
                let resolved = records.map { record -> CKRecord in
                    guard let conflict = errors[record.recordID] as? CKError, conflict.code == .serverRecordChanged,
                        let server = conflict.userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord,
                        let client = conflict.userInfo[CKRecordChangedErrorClientRecordKey] as? CKRecord
                    else { return record }
                    for key in client.changedKeys() { server[key] = client[key] }
                    return server
                }
                self.save(resolved, completion: completion)
            case .zoneNotFound: self.makeZone(of: records, thenSave: completion)
            case .limitExceeded:
                let half = records.count / 2
                self.save(Array(records[..<half])) { first in
                    guard case .success(let saved) = first else { return completion(first) }
                    self.save(Array(records[half...])) { second in completion(second.map { saved + $0 }) }
                }
            default:
                guard let delay = error.retryDelay else { return completion(.failure(error)) }
                DispatchQueue.global().asyncAfter(deadline: .now() + delay) { self.save(records, completion: completion) }
            }
        }
        database.add(operation)
    }

    private func makeZone(of records: [CKRecord], thenSave completion: @escaping (Result<[CKRecord], Error>) -> Void) {
        let zones = Set(records.map(\.recordID.zoneID)).map { CKRecordZone(zoneID: $0) }
        let operation = CKModifyRecordZonesOperation(recordZonesToSave: zones, recordZoneIDsToDelete: nil)
        operation.modifyRecordZonesCompletionBlock = { _, _, error in
            if let error = error { completion(.failure(error)) } else { self.save(records, completion: completion) }
        }
        database.add(operation)
    }
}

/// The pattern of fetching a record that may not exist yet.
func fetchOrCreate(_ id: CKRecord.ID, type: String, in database: CKDatabase) async throws -> (record: CKRecord, isNew: Bool) {
    do {
        return (try await database.record(for: id), false)
    } catch let error as CKError where error.code == .unknownItem {
        return (CKRecord(recordType: type, recordID: id), true)
    } catch CKError.zoneNotFound {
        _ = try await database.modifyRecordZones(saving: [CKRecordZone(zoneID: id.zoneID)], deleting: [])
        return (CKRecord(recordType: type, recordID: id), true)
    }
}

/// Retries as long as the error has a delay.
func retrying<Value>(
    attempts: Int = 3, sleep: (TimeInterval) async -> Void, _ body: () async throws -> Value
) async throws -> Value {
    for attempt in 1...attempts {
        do {
            return try await body()
        } catch let error as CKError {
            switch error.code {
            case .requestRateLimited, .serviceUnavailable, .zoneBusy, .networkFailure, .networkUnavailable, .serverResponseLost:
                guard attempt < attempts else { throw error }
                await sleep(error.retryAfterSeconds ?? pow(2, Double(attempt)))
            default: throw error
            }
        }
    }
    throw CancellationError()
}
