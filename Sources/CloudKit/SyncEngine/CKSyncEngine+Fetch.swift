// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

extension CKSyncEngine {
    /// Fetches the changed zones, then their changes.
    func fetch(_ requestedOptions: FetchChangesOptions, _ reason: SyncReason, from database: CKDatabase) async throws {
        let requestedContext = FetchChangesContext(reason: reason, options: requestedOptions)
        let options = await ask { await $0.nextFetchChangesOptions(requestedContext, syncEngine: self) } ?? requestedOptions
        let context = FetchChangesContext(reason: reason, options: options)
        await post(.willFetchChanges(Event.WillFetchChanges(context: context)))
        var failure: (any Error)?
        do {
            let run = try DatabaseRequests(database, OperationSettings(nil, under: options.operationGroup))
            try await fetchDatabase(run)
            for zoneID in zonesToFetch(options) {
                try Task.checkCancellation()
                try checkAccount(of: database)
                do {
                    try await fetchZone(zoneID, run)
                } catch let error as CKError where error.code == .assetNotAvailable {
                    // The asset of one record is missing: the other zones do not wait for it.
                    failure = failure ?? error
                }
            }
        } catch {
            failure = error
        }
        await post(.didFetchChanges(Event.DidFetchChanges(context: context)))
        if let failure { throw failure }
    }

    private func fetchDatabase(_ run: DatabaseRequests) async throws {
        var isLast = false
        var hasExpired = false
        var positions = PagePositions()
        while !isLast {
            let token = state.stored.value.databaseToken
            let page: DatabaseChangesPage
            do {
                page = try await run.databaseChanges(since: token, resultsLimit: nil)
            } catch CKError.changeTokenExpired where token != nil && !hasExpired {
                hasExpired = true
                state.stored.update { $0.databaseToken = nil }
                continue
            }
            if page.moreComing, !positions.advance(from: token?.text, to: page.token.text) { throw CKError.repeatedPage }
            let deletedZoneIDs = Set(page.deletions.map(\.zoneID))
            state.stored.update { content in
                for id in deletedZoneIDs { content.zoneTokens[id] = nil }
                content.unfetched.removeAll { deletedZoneIDs.contains($0) }
                for change in page.modifications where !content.unfetched.contains(change.zoneID) {
                    content.unfetched.append(change.zoneID)
                }
            }
            if !page.modifications.isEmpty || !page.deletions.isEmpty {
                await post(
                    .fetchedDatabaseChanges(
                        Event.FetchedDatabaseChanges(modifications: page.modifications, deletions: page.deletions)))
            }
            // Behind the event: a state with the token that was stored before it would stand for deletions that the app does not know.
            state.stored.update { $0.databaseToken = page.token }
            if page.token != token { await postState() }
            isLast = !page.moreComing
        }
    }

    private func zonesToFetch(_ options: FetchChangesOptions) -> [CKRecordZone.ID] {
        let zoneIDs = state.stored.value.unfetched.filter { options.scope.contains($0) }
        let first = options.prioritizedZoneIDs.filter { zoneIDs.contains($0) }
        return first + zoneIDs.filter { !first.contains($0) }
    }

    private func fetchZone(_ zoneID: CKRecordZone.ID, _ run: DatabaseRequests) async throws {
        await post(.willFetchRecordZoneChanges(Event.WillFetchRecordZoneChanges(zoneID: zoneID)))
        var failure: CKError?
        var isLast = false
        var hasExpired = false
        var positions = PagePositions()
        while !isLast, failure == nil {
            let token = state.stored.value.zoneTokens[zoneID]
            do {
                let page = try await run.zoneChanges([(zoneID, token, nil, nil)])[0].result.get()
                if page.moreComing, !positions.advance(from: token?.text, to: page.token.text) { throw CKError.repeatedPage }
                let modifications = try page.records.map { CKDatabase.RecordZoneChange.Modification(record: try $0.result.get()) }
                if !modifications.isEmpty || !page.deletions.isEmpty {
                    await post(
                        .fetchedRecordZoneChanges(
                            Event.FetchedRecordZoneChanges(modifications: modifications, deletions: page.deletions)))
                }
                isLast = !page.moreComing
                state.stored.update { content in
                    content.zoneTokens[zoneID] = page.token
                    if !page.moreComing { content.unfetched.removeAll { $0 == zoneID } }
                }
                await postState()
            } catch CKError.changeTokenExpired where token != nil && !hasExpired {
                hasExpired = true
                state.stored.update { $0.zoneTokens[zoneID] = nil }
            } catch {
                failure = CKError(transportFailure: error)
            }
        }
        await post(.didFetchRecordZoneChanges(Event.DidFetchRecordZoneChanges(zoneID: zoneID, error: failure)))
        guard let failure else { return }
        // A deleted zone does not fail the others. The next database changes report it. They do not list a busy zone again.
        guard failure.isOfOneZone, !failure.mayPass else { throw failure }
        state.stored.update { $0.unfetched.removeAll { $0 == zoneID } }
    }
}
