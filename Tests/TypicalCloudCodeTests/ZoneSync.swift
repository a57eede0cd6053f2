// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation

// Code as apps have it that follows changes with operations, all callbacks of both generations, cursors and pushes.

final class ZoneSync {
    let container: CKContainer
    let database: CKDatabase
    let defaults: UserDefaults
    private(set) var records: [CKRecord.ID: CKRecord] = [:]
    private(set) var log: [String] = []
    private let queue: OperationQueue = {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        return queue
    }()

    init(container: CKContainer, scope: CKDatabase.Scope = .private, suite: String) {
        self.container = container
        database = container.database(with: scope)
        defaults = UserDefaults(suiteName: suite) ?? .standard
    }

    // MARK: Tokens

    private func token(_ key: String) -> CKServerChangeToken? {
        guard let data = defaults.data(forKey: key) else { return nil }
        return try? NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: data)
    }

    private func keep(_ token: CKServerChangeToken?, _ key: String) {
        guard let token = token else { return defaults.removeObject(forKey: key) }
        let data = try? NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
        defaults.set(data, forKey: key)
    }

    // MARK: Fetching, with result blocks

    func fetchDatabaseChanges(completion: @escaping (Result<Int, Error>) -> Void) {
        var changed: [CKRecordZone.ID] = []
        let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: token("database"))
        operation.fetchAllChanges = true
        operation.recordZoneWithIDChangedBlock = { changed.append($0) }
        operation.recordZoneWithIDWasDeletedBlock = { zoneID in
            self.records = self.records.filter { $0.key.zoneID != zoneID }
            self.log.append("deleted \(zoneID.zoneName)")
        }
        operation.recordZoneWithIDWasPurgedBlock = { self.log.append("purged \($0.zoneName)") }
        operation.changeTokenUpdatedBlock = { self.keep($0, "database") }
        operation.fetchDatabaseChangesResultBlock = { result in
            switch result {
            case .success(let (token, moreComing)):
                self.log.append("database more \(moreComing)")
                guard !changed.isEmpty else {
                    self.keep(token, "database")
                    return completion(.success(0))
                }
                self.fetchZoneChanges(changed) { result in
                    if case .success = result { self.keep(token, "database") }
                    completion(result)
                }
            case .failure(let error): completion(.failure(error))
            }
        }
        operation.database = database
        queue.addOperation(operation)
    }

    private func fetchZoneChanges(_ zoneIDs: [CKRecordZone.ID], completion: @escaping (Result<Int, Error>) -> Void) {
        var configurations: [CKRecordZone.ID: CKFetchRecordZoneChangesOperation.ZoneConfiguration] = [:]
        for zoneID in zoneIDs {
            let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration()
            configuration.previousServerChangeToken = token(zoneID.zoneName)
            configuration.resultsLimit = 2
            configurations[zoneID] = configuration
        }
        var count = 0
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: zoneIDs, configurationsByRecordZoneID: configurations)
        operation.recordWasChangedBlock = { recordID, result in
            count += 1
            switch result {
            case .success(let record): self.records[recordID] = record
            case .failure(let error): self.log.append("\(recordID.recordName): \(error.localizedDescription)")
            }
        }
        operation.recordWithIDWasDeletedBlock = { recordID, recordType in
            count += 1
            self.records[recordID] = nil
            self.log.append("- \(recordType) \(recordID.recordName)")
        }
        operation.recordZoneChangeTokensUpdatedBlock = { zoneID, token, _ in
            self.keep(token, zoneID.zoneName)
            self.log.append("page \(zoneID.zoneName)")
        }
        operation.recordZoneFetchResultBlock = { zoneID, result in
            switch result {
            case .success(let (serverChangeToken, _, _)): self.keep(serverChangeToken, zoneID.zoneName)
            case .failure(let error):
                guard (error as? CKError)?.code == .changeTokenExpired else { return }
                self.keep(nil, zoneID.zoneName)
            }
        }
        operation.fetchRecordZoneChangesResultBlock = { result in completion(result.map { count }) }
        operation.qualityOfService = .utility
        database.add(operation)
    }

    // MARK: Queries, page by page

    func fetchAll(_ type: String, pageSize: Int, completion: @escaping (Result<[CKRecord], Error>) -> Void) {
        var found: [CKRecord] = []
        func run(_ operation: CKQueryOperation) {
            operation.resultsLimit = pageSize
            operation.desiredKeys = ["title"]
            operation.recordMatchedBlock = { _, result in
                if case .success(let record) = result { found.append(record) }
            }
            operation.queryResultBlock = { result in
                switch result {
                case .success(let cursor?): run(CKQueryOperation(cursor: cursor))
                case .success(nil): completion(.success(found))
                case .failure(let error): completion(.failure(error))
                }
            }
            database.add(operation)
        }
        let query = CKQuery(recordType: type, predicate: NSPredicate(format: "%K >= %d", "rank", 0))
        query.sortDescriptors = [NSSortDescriptor(key: "rank", ascending: false)]
        run(CKQueryOperation(query: query))
    }

    // MARK: Subscriptions and pushes

    func subscribe(to type: String, completion: @escaping (Error?) -> Void) {
        let query = CKQuerySubscription(
            recordType: type, predicate: NSPredicate(format: "rank > %@", NSNumber(value: 1)), subscriptionID: "new-\(type)",
            options: [.firesOnRecordCreation, .firesOnRecordUpdate])
        let info = CKSubscription.NotificationInfo()
        info.alertLocalizationKey = "NEW_%@"
        info.alertLocalizationArgs = ["title"]
        info.desiredKeys = ["title", "rank"]
        info.shouldBadge = true
        info.soundName = "default"
        info.category = "news"
        query.notificationInfo = info

        let silent = CKDatabaseSubscription(subscriptionID: "all-changes")
        let silentInfo = CKSubscription.NotificationInfo()
        silentInfo.shouldSendContentAvailable = true
        silent.notificationInfo = silentInfo

        let operation = CKModifySubscriptionsOperation(subscriptionsToSave: [query, silent], subscriptionIDsToDelete: nil)
        operation.perSubscriptionSaveBlock = { id, result in
            if case .success(let saved) = result { self.log.append("subscribed \(id) \(saved.subscriptionType.rawValue)") }
        }
        operation.modifySubscriptionsCompletionBlock = { _, _, error in completion(error) }
        operation.qualityOfService = .utility
        database.add(operation)
    }

    /// Describes a push.
    static func describe(_ userInfo: [AnyHashable: Any]) -> String {
        guard let notification = CKNotification(fromRemoteNotificationDictionary: userInfo) else { return "not CloudKit" }
        switch notification.notificationType {
        case .query:
            guard let query = notification as? CKQueryNotification, let id = query.recordID else { return "query?" }
            let title = query.recordFields?["title"] as? String ?? "-"
            switch query.queryNotificationReason {
            case .recordCreated: return "created \(id.recordName) \(title)"
            case .recordUpdated: return "updated \(id.recordName) \(title)"
            case .recordDeleted: return "deleted \(id.recordName)"
            @unknown default: return "?"
            }
        case .recordZone: return "zone \((notification as? CKRecordZoneNotification)?.recordZoneID?.zoneName ?? "?")"
        case .database:
            return "database \((notification as! CKDatabaseNotification).databaseScope.rawValue) \(notification.subscriptionID ?? "")"
        case .readNotification: return "read"
        @unknown default: return "?"
        }
    }
}
