// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import ManagedModel

/// The server's response to one item of a batch.
package enum ItemOutcome: Hashable, Sendable {
    /// The saved record with its new change tag, and with all fields or only the sent ones.
    case saved(Record)
    case deleted
    case refused(CloudFailure)
    /// Not saved because the server rejected another item of the group.
    case aborted

    package var isAcceptance: Bool {
        switch self {
        case .saved, .deleted: true
        case .refused, .aborted: false
        }
    }
}

/// The outcome of a settled batch: counts of items, and failures.
package struct BatchVerdict: Hashable, Sendable {
    package var accepted = 0
    /// How many of the accepted items were updates without a value: sent only to learn whether the server still has the record.
    package var withoutValue = 0
    /// Items that the server rejected permanently: quarantined, and not sent before their next change.
    package var failed = 0
    /// Why the first of them was rejected.
    package var failure: CloudFailure?
    /// Items of which the server has a newer version: it is imported before they are sent again.
    package var needImport = 0
    /// Items that are retried later.
    package var postponed = 0
    /// Why items were postponed; the first failure with a delay, else any.
    package var postponement: CloudFailure?
    package var isTooLarge = false
    /// Items that the server neither saved nor rejected: sent again after the rejected items of their group are settled.
    package var aborted = 0
    /// Whether records were saved with fields that the rows lack, although this version of the model has them: the record came from a later
    /// version, the app was updated, and the server had lost the record when it was fetched again. A full fetch applies them.
    package var leavesUnapplied = false
    /// A failure that concerns more than one item, such as a missing zone.
    package var requestFailure: CloudFailure?

    /// The failure that events report: that of the whole request, or of items that are not retried.
    package var firstFailure: CloudFailure? { requestFailure ?? failure }

    /// Whether the server accepted something that is not sent again with the same batch.
    var isProgress: Bool { accepted > withoutValue }

    package init() {}
}

/// Turns the server's response to a batch into changes of the sync metadata.
package struct ExportSettlement: Hashable, Sendable {
    package private(set) var changes = BookkeepingChanges()
    package private(set) var verdict = BatchVerdict()

    private init() {}

    /// Settles a batch.
    ///
    /// - Parameters:
    ///   - outcomes: By record name. An item without an outcome stays pending, as after a lost response.
    ///   - assets: Uploaded assets, by record name and field.
    ///   - generation: The number of the last full fetch of which a page was applied. Records that are saved after that page do not count
    ///     as missing in it.
    ///   - records: The present metadata of the items, loaded in the transaction that writes the changes.
    package static func settle(
        _ items: [ExportBatch.Item], outcomes: [String: ItemOutcome], assets: [String: [String: AssetValue]] = [:],
        generation: Int64, records: [String: RecordState], links: [String: LinkState], mapping: RecordMapping
    ) -> ExportSettlement {
        var settlement = ExportSettlement()
        settlement.settle(items, outcomes, assets, generation, records, links, mapping)
        return settlement
    }

    private mutating func settle(
        _ items: [ExportBatch.Item], _ outcomes: [String: ItemOutcome], _ assets: [String: [String: AssetValue]],
        _ generation: Int64, _ records: [String: RecordState], _ links: [String: LinkState], _ mapping: RecordMapping
    ) {
        // In a rejected group the server names the items that are the cause.
        let isAlone = items.count == 1 || outcomes.values.contains(.aborted)
        let separations = SentSeparations(mapping.hasUniqueness ? items : [], outcomes, records: records)
        for item in items {
            guard let outcome = outcomes[item.recordName] else {
                verdict.postponed += 1
                if let record = records[item.recordName] { settle(record, without: separations) }
                continue
            }
            if item.isLink, let link = links[item.recordName] {
                settle(link, item, outcome, generation, isAlone: isAlone)
            } else if let record = records[item.recordName] {
                settle(record, item, outcome, assets[item.recordName] ?? [:], generation, mapping, separations, isAlone: isAlone)
            }
        }
    }

    /// Settles a record without a response to its item. It stays as it is, unless the server saved a list that it has to be updated after.
    private mutating func settle(_ present: RecordState, without separations: SentSeparations) {
        var state = present
        separations.note(nil, in: &state)
        if state != present { changes.records.append(state) }
    }

    private mutating func settle(
        _ present: RecordState, _ item: ExportBatch.Item, _ outcome: ItemOutcome, _ assets: [String: AssetValue], _ generation: Int64,
        _ mapping: RecordMapping, _ separations: SentSeparations, isAlone: Bool
    ) {
        var state = present
        separations.note(outcome, in: &state)
        switch (outcome, item.operation) {
        case (.saved(let record), .create), (.saved(let record), .update):
            verdict.accepted += 1
            if item.operation == .update, item.record.fields.isEmpty, item.uploads.isEmpty { verdict.withoutValue += 1 }
            guard let entity = mapping.entities[state.key.entityIndex] else { return }
            state.adopt(record, sent: item, assets, entity)
            state.generation = generation
            if item.operation == .create, state.ancestor.unapplied.keys.contains(where: entity.knownFields.contains) {
                verdict.leavesUnapplied = true
            }
            if state.stage == .needsUpload, state.mark == item.mark { state.stage = .uploaded }
            changes.records.append(state)
        case (.deleted, _), (.saved, .forceDelete), (.saved, .delete):
            verdict.accepted += 1
            changes.removedRecords.append(state.recordName)
        case (.refused(let failure), .delete) where failure.code == .unknownItem && state.isRelocated:
            // Another device deleted the relocated record in its source zone: the import reads the deletion.
            verdict.needImport += 1
            state.stage = .missing
            changes.records.append(state)
        case (.refused(let failure), .forceDelete) where failure.code == .unknownItem,
            (.refused(let failure), .delete) where failure.code == .unknownItem:
            verdict.accepted += 1
            changes.removedRecords.append(state.recordName)
        case (.refused(let failure), .update) where failure.code == .unknownItem:
            // Deletion beats edits. The record stays until the import has logged the lost edits. An object that was deleted here since
            // remains to be deleted: the record may only have been relocated.
            verdict.needImport += 1
            if state.stage != .needsDelete { state.stage = .missing }
            changes.records.append(state)
        case (.aborted, _): verdict.aborted += 1
        case (.refused(let failure), _):
            state.failure = refuse(failure, isAlone: isAlone) ?? state.failure
            if state != present { changes.records.append(state) }
        }
    }

    private mutating func settle(
        _ link: LinkState, _ item: ExportBatch.Item, _ outcome: ItemOutcome, _ generation: Int64, isAlone: Bool
    ) {
        var link = link
        switch (outcome, item.operation) {
        case (.saved(let record), .create), (.saved(let record), .update):
            verdict.accepted += 1
            link.changeTag = record.recordChangeTag
            link.generation = generation
            if link.stage == .needsUpload { link.stage = .uploaded }
            changes.links.append(link)
        case (.deleted, _), (.saved, .forceDelete), (.saved, .delete):
            verdict.accepted += 1
            changes.removedLinks.append(link.recordName)
        case (.refused(let failure), .forceDelete) where failure.code == .unknownItem,
            (.refused(let failure), .delete) where failure.code == .unknownItem:
            verdict.accepted += 1
            changes.removedLinks.append(link.recordName)
        case (.refused(let failure), .create) where failure.code == .serverRecordChanged:
            // An earlier attempt was saved and its response lost. Join records never change, so both are equal.
            verdict.accepted += 1
            link.generation = generation
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

    /// - Returns: The reason to store with the item if it is rejected permanently.
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
    /// Makes the server's present record the merge base: its former fields, the sent fields, the fields of the response.
    fileprivate mutating func adopt(
        _ record: Record, sent item: ExportBatch.Item, _ assets: [String: AssetValue], _ entity: EntityMapping
    ) {
        let sent = item.with(assets).fields
        let isNew = item.operation == .create
        var fields = record.fields
        // The device knows the encrypted values that it sent. A malicious server can return others, also as unencrypted ones: in the merge base
        // they would make this device's values later changes.
        if entity.hasEncryptedFields {
            for property in entity.properties where property.isEncrypted {
                fields[property.fieldName] = nil
                if let asset = property.assetFieldName { fields[asset] = nil }
            }
        }
        if fieldStates.hasQuarantined {
            // The row does not have the server's values of these.
            for (field, _) in fieldStates.quarantined {
                for name in [field, field + MirrorNames.assetSuffix] where !sent.keys.contains(name) { fields[name] = nil }
            }
            fieldStates.replaceMissingAssets(sent: sent, isNew: isNew)
        }
        // Responses have most fields: to look for the others takes less time than to merge them.
        func complete(with others: [String: Field]) {
            for (name, field) in others where !fields.keys.contains(name) { fields[name] = field }
        }
        complete(with: sent)
        if !isNew {
            complete(with: ancestor.fields)
            complete(with: ancestor.unapplied)
        }
        var adopted = entity.ancestor(of: fields)
        // Other fields of the response are not applied to the row, even if this version of the model knows them.
        func withdraw(_ name: String) {
            guard !sent.keys.contains(name), isNew || !ancestor.fields.keys.contains(name) else { return }
            if let field = adopted.fields.removeValue(forKey: name) { adopted.unapplied[name] = field }
        }
        for name in record.fields.keys { withdraw(name) }
        if isNew {
            // Fields of a later version of the model are sent unchanged. If the app is updated before the response arrives, its model has
            // them and the row does not: in the merge base they would count as values that the user cleared.
            for (name, field) in ancestor.unapplied where sent[name] == field {
                adopted.fields[name] = nil
                adopted.unapplied[name] = field
            }
        } else {
            for name in ancestor.unapplied.keys { withdraw(name) }
        }
        if !ancestor.digests.isEmpty { adopted.digests = ancestor.digests.filter { adopted.fields.keys.contains($0.key) } }
        if !item.uploads.isEmpty || !item.digests.isEmpty { adopted.digests.merge(item.uploadedDigests) { _, sent in sent } }
        ancestor = adopted
        changeTag = record.recordChangeTag
        modified = record.modified
        system = system.updated(by: record)
        failure = nil
        for property in entity.encryptedProperties(in: sent, uploads: []) {
            fieldStates.advance(property.fieldName, isNew: isNew, isOutdated: mark != item.mark)
        }
        if isNew { fieldStates.endReplacements(notIn: sent) }
    }
}
