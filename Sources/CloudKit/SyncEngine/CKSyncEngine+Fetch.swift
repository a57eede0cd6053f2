// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

extension CKSyncEngine {
    /// Fetches zones that changed, then what changed in them.
    func fetch(_ wanted: FetchChangesOptions, _ reason: SyncReason, from database: CKDatabase) async throws {
        let asked = FetchChangesContext(reason: reason, options: wanted)
        let options = await ask { await $0.nextFetchChangesOptions(asked, syncEngine: self) } ?? wanted
        let context = FetchChangesContext(reason: reason, options: options)
        await post(.willFetchChanges(Event.WillFetchChanges(context: context)))
        var failure: (any Error)?
        do {
            let run = try DatabaseRun(database, OperationSettings(nil, under: options.operationGroup))
            try await fetchDatabase(run)
            for zoneID in zonesToFetch(options) {
                try Task.checkCancellation()
                try checkAccount(of: database)
                try await fetchZone(zoneID, run)
            }
        } catch {
            failure = error
        }
        await post(.didFetchChanges(Event.DidFetchChanges(context: context)))
        if let failure { throw failure }
    }

    private func fetchDatabase(_ run: DatabaseRun) async throws {
        var isLast = false
        while !isLast {
            let token = state.stored.value.databaseToken
            let page: DatabaseChangesPage
            do {
                page = try await run.databaseChanges(since: token, resultsLimit: nil)
            } catch CKError.changeTokenExpired where token != nil {
                state.stored.update { $0.databaseToken = nil }
                continue
            }
            let gone = Set(page.deletions.map(\.zoneID))
            state.stored.update { content in
                content.databaseToken = page.token
                for id in gone { content.zoneTokens[id] = nil }
                content.unfetched.removeAll { gone.contains($0) }
                for change in page.modifications where !content.unfetched.contains(change.zoneID) {
                    content.unfetched.append(change.zoneID)
                }
            }
            if !page.modifications.isEmpty || !page.deletions.isEmpty {
                await post(
                    .fetchedDatabaseChanges(
                        Event.FetchedDatabaseChanges(modifications: page.modifications, deletions: page.deletions)))
            }
            if page.token != token { await postState() }
            isLast = !page.moreComing
        }
    }

    private func zonesToFetch(_ options: FetchChangesOptions) -> [CKRecordZone.ID] {
        let wanted = state.stored.value.unfetched.filter { options.scope.contains($0) }
        let first = options.prioritizedZoneIDs.filter { wanted.contains($0) }
        return first + wanted.filter { !first.contains($0) }
    }

    private func fetchZone(_ zoneID: CKRecordZone.ID, _ run: DatabaseRun) async throws {
        await post(.willFetchRecordZoneChanges(Event.WillFetchRecordZoneChanges(zoneID: zoneID)))
        var failure: CKError?
        var isLast = false
        while !isLast, failure == nil {
            let token = state.stored.value.zoneTokens[zoneID]
            do {
                let page = try await run.zoneChanges([(zoneID, token, nil, nil)])[0].result.get()
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
            } catch CKError.changeTokenExpired where token != nil {
                state.stored.update { $0.zoneTokens[zoneID] = nil }
            } catch {
                failure = CKError(transportFailure: error)
            }
        }
        await post(.didFetchRecordZoneChanges(Event.DidFetchRecordZoneChanges(zoneID: zoneID, error: failure)))
        guard let failure else { return }
        // A zone that is gone is no failure of the others; the next database changes tell of it.
        guard failure.isOfOneZone else { throw failure }
        state.stored.update { $0.unfetched.removeAll { $0 == zoneID } }
    }
}
