// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Keeps the promises of references when a batch is decided: whom a deletion takes along, and whom it must not touch.
///
/// - `VALIDATE`: the target is there when the source is saved, and stays as long as the source refers to it.
/// - `DELETE_SELF`: the source goes with its target, and so on.
///
/// The batch counts as a whole: a target may come with its sources, and go with them, in any order. Both ends are in one
/// zone.
///
/// Source: *CloudKit Web Services Reference*, "Reference Dictionary", "Data Size Limits".
struct ReferenceCheck {
    private let zone: StoredZone
    private let unit: any PartitionWriter
    private let limits: Limits
    /// Records there are; nil for those that are not.
    private var known: [String: StoredRecord?]

    /// Records that go because their targets go, without those the batch deletes anyway.
    private(set) var cascaded: [StoredRecord] = []

    init(_ stored: [String: StoredRecord], asked names: [String], zone: StoredZone, _ unit: any PartitionWriter, _ limits: Limits) {
        self.zone = zone
        self.unit = unit
        self.limits = limits
        known = [:]
        for name in names { known[name] = .some(nil) }
        for (name, record) in stored { known[name] = record.record.isDeleted ? .some(nil) : record }
    }

    /// Turns decisions that break a promise into failures, and finds `cascaded`.
    ///
    /// - Throws: Failures of the storage only.
    mutating func settle(_ names: [String], _ decisions: inout [Result<RecordDecision, WireError>]) throws {
        // A refusal can break what others rely on, so everything is looked at again until nothing more is refused.
        var isSettled = false
        while !isSettled {
            isSettled = true
            var batch = Batch(names, decisions)
            for (index, decision) in decisions.enumerated() {
                guard case .success(let decision) = decision else { continue }
                do {
                    switch decision {
                    case .save(let record): try checkSave(record, &batch)
                    case .delete(let record): try takeAlong(record.recordName, &batch)
                    case .nothing: break
                    }
                } catch let error as WireError {
                    decisions[index] = .failure(error)
                    isSettled = false
                }
            }
            for (index, decision) in decisions.enumerated() where isSettled {
                guard case .success(.delete(let record)) = decision, let held = try heldBy(record.recordName, batch) else { continue }
                decisions[index] = .failure(
                    WireError(.validatingReferenceError, "a record of type '\(held)' refers to the record, or to one that would go with it"))
                isSettled = false
            }
            cascaded = batch.cascade.sorted { $0.key < $1.key }.map(\.value)
        }
    }

    /// What the decisions come to.
    private struct Batch {
        var saved: [String: Record] = [:]
        var deleted: Set<String> = []
        var cascade: [String: StoredRecord] = [:]
        /// The records that go with each deleted one, itself included.
        var gone: [String: Set<String>] = [:]
        /// `DELETE_SELF` references that the batch adds, by target.
        var added: [String: Int] = [:]

        init(_ names: [String], _ decisions: [Result<RecordDecision, WireError>]) {
            for (name, decision) in zip(names, decisions) {
                switch decision {
                case .success(.save(let record)): saved[name] = record
                case .success(.delete): deleted.insert(name)
                case .success(.nothing), .failure: break
                }
            }
        }
    }

    private mutating func checkSave(_ record: Record, _ batch: inout Batch) throws {
        try checkParent(of: record, batch)
        let references = record.actingReferences
        guard !references.isEmpty else { return }
        let old = try self.record(record.recordName)?.record.links ?? []
        for reference in references where !old.contains(ReferenceLink(target: reference.recordName, action: reference.action)) {
            guard reference.zoneID.map({ $0.zoneName == zone.name }) ?? true else {
                throw WireError(.badRequest, "a reference with the action \(reference.action.rawValue) must stay in its zone")
            }
            let target = reference.recordName
            switch reference.action {
            case .validate:
                guard try isThere(target, after: batch) else {
                    throw WireError(.validatingReferenceError, "the target of a VALIDATE reference does not exist")
                }
            case .deleteSelf:
                batch.added[target, default: 0] += 1
                let most = limits.deletingReferencesPerRecord
                let present = try unit.sources(ofReferencesTo: target, .deleteSelf, in: zone.key, limit: most + 1)
                    .count { batch.saved[$0] == nil && !batch.deleted.contains($0) }
                guard present + batch.added[target, default: 0] <= most else {
                    throw WireError(
                        .badRequest, "a record is the target of at most \(most) DELETE_SELF references", nativeCode: .limitExceeded)
                }
            case .none: break
            }
        }
    }

    /// A parent is there when a record gets it; it may go later.
    ///
    /// Source: Apple's documentation of `CKRecord.setParent(_:)`.
    private mutating func checkParent(of record: Record, _ batch: Batch) throws {
        guard let parent = record.sharing.parent, !parent.isEmpty else { return }
        guard try self.record(record.recordName)?.record.sharing.parent != parent else { return }
        guard try isThere(parent, after: batch) else {
            throw WireError(.validatingReferenceError, "the parent of the record does not exist")
        }
    }

    private mutating func isThere(_ name: String, after batch: Batch) throws -> Bool {
        try batch.saved[name] != nil || !batch.deleted.contains(name) && record(name) != nil
    }

    /// Finds the records that go with one that is deleted.
    private mutating func takeAlong(_ name: String, _ batch: inout Batch) throws {
        var gone: Set = [name]
        var open = [name]
        while let target = open.popLast() {
            for source in try unit.sources(ofReferencesTo: target, .deleteSelf, in: zone.key, limit: limits.recordsTakenAlong + 1)
            where batch.saved[source] == nil && gone.insert(source).inserted {
                open.append(source)
                if !batch.deleted.contains(source), let record = try record(source) { batch.cascade[source] = record }
                guard gone.count <= limits.recordsTakenAlong else {
                    throw WireError(
                        .badRequest, "more than \(limits.recordsTakenAlong) records would go with the record by their references",
                        nativeCode: .limitExceeded)
                }
            }
        }
        batch.gone[name] = gone
    }

    /// The type of a record that stays and holds on to one that goes with `name`, or nil.
    private mutating func heldBy(_ name: String, _ batch: Batch) throws -> String? {
        for target in (batch.gone[name] ?? []).sorted() {
            let sources = try unit.sources(
                ofReferencesTo: target, .validate, in: zone.key, limit: batch.deleted.count + batch.cascade.count + batch.saved.count + 1)
            for source in sources where !batch.deleted.contains(source) && batch.cascade[source] == nil {
                if let saved = batch.saved[source], !saved.links.contains(ReferenceLink(target: target, action: .validate)) { continue }
                if let record = try record(source)?.record { return record.recordType }
            }
        }
        return nil
    }

    private mutating func record(_ name: String) throws -> StoredRecord? {
        if let found = known[name] { return found }
        let found = try unit.records(named: [name], in: zone.key)[name].flatMap { $0.record.isDeleted ? nil : $0 }
        known[name] = .some(found)
        return found
    }
}
