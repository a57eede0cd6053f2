// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import ManagedModel

/// What the server did with one item of a batch.
package enum ItemOutcome: Hashable, Sendable {
    /// Saved: the record with its new change tag, and with all fields or those that were sent.
    case saved(Record)
    case deleted
    case refused(CloudFailure)
    /// Not saved because another item of its group was refused.
    case aborted

    package var isAcceptance: Bool {
        switch self {
        case .saved, .deleted: true
        case .refused, .aborted: false
        }
    }
}

/// What a batch brought, for the loop.
package struct BatchVerdict: Hashable, Sendable {
    package var accepted = 0
    /// Refused for good; they are marked and not sent again until somebody changes them.
    package var failed = 0
    /// Why the first of them failed.
    package var failure: CloudFailure?
    /// Somebody else was faster: their changes have to be imported before these are sent again.
    package var needImport = 0
    /// Refused for now.
    package var postponed = 0
    /// Why items were postponed; the first of them that says how long to wait, else any.
    package var postponement: CloudFailure?
    package var isTooLarge = false
    /// Neither saved nor refused: they are sent again once what was refused with them is settled.
    package var aborted = 0
    /// The zone is gone, or something else that concerns more than one item.
    package var requestFailure: CloudFailure?

    /// What an app is told of: the failure of all, or of a part that is not tried again.
    package var firstFailure: CloudFailure? { requestFailure ?? failure }

    package init() {}
}

/// Turns the server's answers about a batch into bookkeeping.
package struct ExportSettlement: Hashable, Sendable {
    package private(set) var changes = BookkeepingChanges()
    package private(set) var verdict = BatchVerdict()

    /// - Parameters:
    ///   - outcomes: By record name. An item without an outcome stays marked, as after a lost answer.
    ///   - assets: What was uploaded, by record name and field.
    ///   - generation: The number of the last full fetch of which a page was applied: what is saved after that page
    ///     is not missing in it.
    ///   - records: The present bookkeeping of the items, loaded in the transaction that writes the changes.
    package init(
        of batch: ExportBatch, outcomes: [String: ItemOutcome], assets: [String: [String: AssetValue]] = [:],
        generation: Int64, records: [String: RecordState], links: [String: LinkState], mapping: RecordMapping
    ) {
        // Of a group that was refused the server names the items that are the reason.
        let isAlone = batch.items.count == 1 || outcomes.values.contains(.aborted)
        for item in batch.items {
            guard let outcome = outcomes[item.recordName] else {
                verdict.postponed += 1
                continue
            }
            if item.isLink, var link = links[item.recordName] {
                link.generation = generation
                settle(link, item, outcome, isAlone: isAlone)
            } else if var record = records[item.recordName] {
                record.generation = generation
                settle(record, item, outcome, assets[item.recordName] ?? [:], mapping, isAlone: isAlone)
            }
        }
    }

    private mutating func settle(
        _ state: RecordState, _ item: ExportBatch.Item, _ outcome: ItemOutcome, _ assets: [String: AssetValue],
        _ mapping: RecordMapping, isAlone: Bool
    ) {
        var state = state
        switch (outcome, item.operation) {
        case (.saved(let record), .create), (.saved(let record), .update):
            verdict.accepted += 1
            guard let entity = mapping.entities[state.key.entityIndex] else { return }
            state.adopt(record, sent: item, assets, entity)
            if state.stage == .needsUpload, state.mark == item.mark { state.stage = .uploaded }
            changes.records.append(state)
        case (.deleted, _), (.saved, .forceDelete), (.saved, .delete):
            verdict.accepted += 1
            changes.removedRecords.append(state.recordName)
        case (.refused(let failure), .delete) where failure.code == .unknownItem && state.isMovedOut:
            // Somebody deleted what moved from there: import sees to it.
            verdict.needImport += 1
            state.stage = .missing
            changes.records.append(state)
        case (.refused(let failure), .forceDelete) where failure.code == .unknownItem, (.refused(let failure), .delete) where failure.code == .unknownItem:
            verdict.accepted += 1
            changes.removedRecords.append(state.recordName)
        case (.refused(let failure), .update) where failure.code == .unknownItem:
            // Deletion beats edits. The record stays until import has told what was lost. What was deleted here since is still to be
            // deleted: it may only have moved.
            verdict.needImport += 1
            if state.stage != .needsDelete { state.stage = .missing }
            changes.records.append(state)
        case (.aborted, _): verdict.aborted += 1
        case (.refused(let failure), _):
            if let reason = refuse(failure, isAlone: isAlone) {
                state.failure = reason
                changes.records.append(state)
            }
        }
    }

    private mutating func settle(_ link: LinkState, _ item: ExportBatch.Item, _ outcome: ItemOutcome, isAlone: Bool) {
        var link = link
        switch (outcome, item.operation) {
        case (.saved(let record), .create), (.saved(let record), .update):
            verdict.accepted += 1
            link.changeTag = record.recordChangeTag
            if link.stage == .needsUpload { link.stage = .uploaded }
            changes.links.append(link)
        case (.deleted, _), (.saved, .forceDelete), (.saved, .delete):
            verdict.accepted += 1
            changes.removedLinks.append(link.recordName)
        case (.refused(let failure), .forceDelete) where failure.code == .unknownItem, (.refused(let failure), .delete) where failure.code == .unknownItem:
            verdict.accepted += 1
            changes.removedLinks.append(link.recordName)
        case (.refused(let failure), .create) where failure.code == .serverRecordChanged:
            // An earlier attempt arrived whose answer was lost. Links never change, so it is the same.
            verdict.accepted += 1
            if link.stage == .needsUpload { link.stage = .uploaded }
            changes.links.append(link)
        case (.aborted, _): verdict.aborted += 1
        case (.refused(let failure), _):
            if let reason = refuse(failure, isAlone: isAlone) {
                link.failure = reason
                changes.links.append(link)
            }
        }
    }

    /// - Returns: The reason to be kept with the item if it is refused for good.
    private mutating func refuse(_ failure: CloudFailure, isAlone: Bool) -> String? {
        switch RetryPolicy.itemDecision(failure) {
        case .importFirst: verdict.needImport += 1
        case .later:
            verdict.postponed += 1
            if verdict.postponement?.retryAfter == nil { verdict.postponement = failure }
        case .wholeRequest:
            verdict.postponed += 1
            verdict.requestFailure = verdict.requestFailure ?? failure
        case .split where !isAlone:
            verdict.postponed += 1
            verdict.isTooLarge = true
        case .split, .giveUp:
            verdict.failed += 1
            verdict.failure = verdict.failure ?? failure
            return failure.reason
        }
        return nil
    }
}

extension RecordState {
    /// Takes what the server holds now as the ancestor: what it held, what was sent, what it answered.
    fileprivate mutating func adopt(
        _ record: Record, sent item: ExportBatch.Item, _ assets: [String: AssetValue], _ entity: EntityMapping
    ) {
        let sent = item.with(assets).fields
        let isNew = item.operation == .create
        var fields = sent
        if !isNew { fields.merge(ancestor.fields.merging(ancestor.unapplied) { known, _ in known }) { sent, _ in sent } }
        fields.merge(record.fields) { _, answered in answered }
        var adopted = entity.ancestor(of: fields)
        // What the answer brings besides has not been applied to the row, even if this version of the model knows it.
        let others = isNew ? Array(record.fields.keys) : Array(record.fields.keys) + ancestor.unapplied.keys
        for name in others where sent[name] == nil && (isNew || ancestor.fields[name] == nil) {
            if let field = adopted.fields.removeValue(forKey: name) { adopted.unapplied[name] = field }
        }
        adopted.digests = ancestor.digests.filter { adopted.fields[$0.key] != nil }
        adopted.digests.merge(item.uploadedDigests) { _, sent in sent }
        ancestor = adopted
        changeTag = record.recordChangeTag
        modified = record.modified
        system = system.updated(by: record)
        failure = nil
    }
}
