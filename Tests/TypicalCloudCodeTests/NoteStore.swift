// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation

// Code as apps have it, of the time of completion handlers: it compiles as it stands, in Swift 5.

struct Note {
    var id: String
    var title: String
    var body: String?
    var created: Date
    var tags: [String]
    var isPinned: Bool
    var parent: CKRecord.Reference?

    enum Key: String {
        case title, body, created, tags, isPinned, parentNote
    }

    static let recordType: CKRecord.RecordType = "Note"

    init(title: String) {
        id = UUID().uuidString
        self.title = title
        created = Date()
        tags = []
        isPinned = false
    }

    init?(record: CKRecord) {
        guard record.recordType == Note.recordType,
            let title = record[Key.title.rawValue] as? String,
            let created = record[Key.created.rawValue] as? Date
        else { return nil }
        id = record.recordID.recordName
        self.title = title
        self.created = created
        body = record.value(forKey: Key.body.rawValue) as? String
        tags = record[Key.tags.rawValue] as? [String] ?? []
        isPinned = (record[Key.isPinned.rawValue] as? Int64 ?? 0) == 1
        parent = record[Key.parentNote.rawValue] as? CKRecord.Reference
    }

    func record(in zoneID: CKRecordZone.ID) -> CKRecord {
        let record = CKRecord(recordType: Note.recordType, recordID: CKRecord.ID(recordName: id, zoneID: zoneID))
        record[Key.title.rawValue] = title as CKRecordValue
        record[Key.body.rawValue] = body
        record[Key.created.rawValue] = created as CKRecordValue
        record[Key.tags.rawValue] = tags as CKRecordValue
        record.setObject(NSNumber(value: isPinned), forKey: Key.isPinned.rawValue)
        record[Key.parentNote.rawValue] = parent
        return record
    }
}

class NoteStore {
    let container: CKContainer
    let database: CKDatabase
    let zone = CKRecordZone(zoneName: "Notes")
    private var token: CKServerChangeToken?
    var notes: [String: Note] = [:]

    init(container: CKContainer = CKContainer.default()) {
        self.container = container
        database = container.privateCloudDatabase
    }

    func checkAccount(_ completion: @escaping (Bool) -> Void) {
        container.accountStatus { status, error in
            switch status {
            case .available: completion(true)
            case .noAccount, .restricted: completion(false)
            case .couldNotDetermine, .temporarilyUnavailable: completion(false)
            @unknown default: completion(false)
            }
            if let error = error { print(error.localizedDescription) }
        }
    }

    func createZone(completion: @escaping (Error?) -> Void) {
        let operation = CKModifyRecordZonesOperation(recordZonesToSave: [zone], recordZoneIDsToDelete: [])
        operation.modifyRecordZonesCompletionBlock = { _, _, error in completion(error) }
        operation.qualityOfService = .userInitiated
        database.add(operation)
    }

    func save(_ notes: [Note], completion: @escaping ([CKRecord], Error?) -> Void) {
        let records = notes.map { $0.record(in: zone.zoneID) }
        let operation = CKModifyRecordsOperation(recordsToSave: records, recordIDsToDelete: nil)
        operation.savePolicy = .changedKeys
        operation.isAtomic = true
        operation.perRecordCompletionBlock = { record, error in
            if let error = error { print("\(record.recordID.recordName): \(error)") }
        }
        operation.modifyRecordsCompletionBlock = { [weak self] saved, _, error in
            if let ckError = error as? CKError, ckError.code == .limitExceeded {
                let half = notes.count / 2
                self?.save(Array(notes[0..<half])) { first, error in
                    guard error == nil else { return completion(first, error) }
                    self?.save(Array(notes[half...])) { second, error in completion(first + second, error) }
                }
                return
            }
            completion(saved ?? [], error)
        }
        database.add(operation)
    }

    func fetchPinned(completion: @escaping (Result<[Note], Error>) -> Void) {
        let predicate = NSPredicate(format: "%K == %@", Note.Key.isPinned.rawValue, NSNumber(value: true))
        let query = CKQuery(recordType: Note.recordType, predicate: predicate)
        query.sortDescriptors = [NSSortDescriptor(key: Note.Key.created.rawValue, ascending: false)]
        database.perform(query, inZoneWith: zone.zoneID) { records, error in
            if let error = error {
                completion(.failure(error))
            } else {
                completion(.success((records ?? []).compactMap(Note.init(record:))))
            }
        }
    }

    func fetchAll(matching predicate: NSPredicate, completion: @escaping ([Note], Error?) -> Void) {
        var found: [Note] = []
        func run(_ operation: CKQueryOperation) {
            operation.zoneID = zone.zoneID
            operation.resultsLimit = 2
            operation.desiredKeys = [Note.Key.title.rawValue, Note.Key.created.rawValue]
            operation.recordFetchedBlock = { record in
                if let note = Note(record: record) { found.append(note) }
            }
            operation.queryCompletionBlock = { cursor, error in
                if let cursor = cursor {
                    run(CKQueryOperation(cursor: cursor))
                } else {
                    completion(found, error)
                }
            }
            database.add(operation)
        }
        run(CKQueryOperation(query: CKQuery(recordType: Note.recordType, predicate: predicate)))
    }

    func fetchChanges(completion: @escaping (Error?) -> Void) {
        let options = CKFetchRecordZoneChangesOperation.ZoneConfiguration()
        options.previousServerChangeToken = token
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zone.zoneID], configurationsByRecordZoneID: [zone.zoneID: options])
        operation.fetchAllChanges = true
        operation.recordChangedBlock = { [weak self] record in
            guard let note = Note(record: record) else { return }
            self?.notes[note.id] = note
        }
        operation.recordWithIDWasDeletedBlock = { [weak self] recordID, _ in self?.notes[recordID.recordName] = nil }
        operation.recordZoneChangeTokensUpdatedBlock = { [weak self] _, token, _ in self?.token = token }
        operation.recordZoneFetchCompletionBlock = { [weak self] _, token, _, _, error in
            if let error = error as? CKError, error.code == .changeTokenExpired {
                self?.token = nil
                return
            }
            self?.token = token
        }
        operation.fetchRecordZoneChangesCompletionBlock = { error in completion(error) }
        database.add(operation)
    }

    func subscribe(completion: @escaping (Error?) -> Void) {
        let subscription = CKDatabaseSubscription(subscriptionID: "notes-changes")
        let info = CKSubscription.NotificationInfo()
        info.shouldSendContentAvailable = true
        subscription.notificationInfo = info
        let operation = CKModifySubscriptionsOperation(subscriptionsToSave: [subscription], subscriptionIDsToDelete: nil)
        operation.modifySubscriptionsCompletionBlock = { _, _, error in completion(error) }
        operation.qualityOfService = .utility
        database.add(operation)
    }

    func storedToken() -> Data? {
        guard let token = token else { return nil }
        return try? NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
    }

    func restoreToken(_ data: Data) {
        token = try? NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: data)
    }

    func systemFields(of record: CKRecord) -> Data {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        archiver.finishEncoding()
        return archiver.encodedData
    }

    func record(fromSystemFields data: Data) -> CKRecord? {
        guard let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: data) else { return nil }
        unarchiver.requiresSecureCoding = true
        defer { unarchiver.finishDecoding() }
        return CKRecord(coder: unarchiver)
    }
}

enum SyncDecision: Equatable {
    case retry(after: TimeInterval)
    case recreateZone
    case forgetToken
    case merge
    case split
    case signIn
    case giveUp
}

func decide(_ error: Error) -> SyncDecision {
    let nsError = error as NSError
    guard nsError.domain == CKErrorDomain, let ckError = error as? CKError else { return .giveUp }
    if let seconds = nsError.userInfo[CKErrorRetryAfterKey] as? Double { return .retry(after: seconds) }
    switch ckError.code {
    case .networkFailure, .networkUnavailable, .serviceUnavailable, .requestRateLimited, .zoneBusy, .serverResponseLost:
        return .retry(after: ckError.retryAfterSeconds ?? 3)
    case .zoneNotFound, .userDeletedZone: return .recreateZone
    case .changeTokenExpired: return .forgetToken
    case .serverRecordChanged: return .merge
    case .limitExceeded, .batchRequestFailed: return .split
    case .notAuthenticated, .accountTemporarilyUnavailable: return .signIn
    case .partialFailure:
        guard let partial = nsError.userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: Error],
            let first = partial.values.first(where: { ($0 as? CKError)?.code != .batchRequestFailed })
        else { return .giveUp }
        return decide(first)
    case .internalError, .badContainer, .missingEntitlement, .permissionFailure, .unknownItem, .invalidArguments,
        .resultsTruncated, .serverRejectedRequest, .assetFileNotFound, .assetFileModified, .incompatibleVersion,
        .constraintViolation, .operationCancelled, .badDatabase, .quotaExceeded, .tooManyParticipants, .alreadyShared,
        .referenceViolation, .managedAccountRestricted, .participantMayNeedVerification, .assetNotAvailable:
        return .giveUp
    @unknown default: return .giveUp
    }
}

func handlePush(_ userInfo: [AnyHashable: Any], refresh: (CKDatabase.Scope) -> Void) {
    guard let notification = CKNotification(fromRemoteNotificationDictionary: userInfo) else { return }
    switch notification.notificationType {
    case .database:
        if let notification = notification as? CKDatabaseNotification { refresh(notification.databaseScope) }
    case .recordZone: refresh(.private)
    case .query:
        guard let query = notification as? CKQueryNotification else { return }
        if query.queryNotificationReason == .recordDeleted { return }
        refresh(query.databaseScope)
    case .readNotification: break
    @unknown default: break
    }
}
