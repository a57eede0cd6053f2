// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Keeps the promises of references when a batch is decided: which records a deletion cascades to, and which it must not touch.
///
/// - `VALIDATE`: the target exists when the source is saved, and cannot be deleted as long as the source refers to it.
/// - `DELETE_SELF`: the source is deleted with its target, and so on. The target may be missing when the source is saved, but the batch that
///   saves the source does not delete it: then the save is rejected, so that no source outlives a deletion that it was not part of.
///
/// A save with a new `VALIDATE` reference is rejected as well if the batch deletes the target with another record.
///
/// The batch counts as a whole: a target may come with its sources, and be deleted with them, in any order. Both ends are in one zone.
///
/// Source: *CloudKit Web Services Reference*, "Reference Dictionary", "Data Size Limits".
struct ReferenceCheck {
    /// Rounds in which refused saves and refused deletions may bring each other about; far more than a batch that makes sense needs.
    private static let roundsMax = 16

    private let limits: Limits
    private let purpose: BatchPurpose
    private var graph: ReferenceGraph

    /// Records that are deleted because their targets are, without those the batch deletes anyway.
    private(set) var cascaded: [StoredRecord] = []

    init(
        _ stored: [String: StoredRecord], asked names: [String], zone: StoredZone, _ unit: any PartitionWriter, _ limits: Limits,
        _ purpose: BatchPurpose
    ) {
        self.limits = limits
        self.purpose = purpose
        graph = ReferenceGraph(stored, asked: names, zone: zone, unit)
    }

    /// Turns decisions that break a promise into failures, and finds `cascaded`.
    ///
    /// Each round looks at every reference once: saves first, in a work list along their references, then all deletions together. A refused
    /// deletion can bring back a reference that a save counts on, hence the rounds.
    ///
    /// - Throws: `WireError` if the batch is too entangled or has too many references; failures of the storage.
    mutating func settle(_ names: [String], _ decisions: inout [Result<RecordDecision, WireError>]) throws {
        for _ in 0..<Self.roundsMax {
            try refuseSaves(names, &decisions)
            guard try refuseDeletions(names, &decisions) else { return }
        }
        throw WireError(
            .badRequest, "the operations of the request depend on each other too deeply: send them in several requests",
            nativeCode: .limitExceeded)
    }

    /// Whether a decision may break a promise: any deletion, and a save of a record with a parent or a reference with an action.
    static func isNeeded(for decisions: [Result<RecordDecision, WireError>]) -> Bool {
        decisions.contains { decision in
            switch decision {
            case .success(.save(let record)): record.sharing.parent?.isEmpty == false || !record.actingReferences.isEmpty
            case .success(.delete): true
            case .success(.nothing), .failure: false
            }
        }
    }

    // MARK: Saves

    /// Rejects saves with missing targets, and then those that relied on a rejected one.
    private mutating func refuseSaves(_ names: [String], _ decisions: inout [Result<RecordDecision, WireError>]) throws {
        var batch = BatchNames(names, decisions)
        var dependents: [String: [Int]] = [:]
        var additions: [String: Int] = [:]
        var referenceCount = 0
        var worklist = Array(decisions.indices)
        var next = 0
        let firstPass = decisions.count
        while next < worklist.count {
            let index = worklist[next]
            next += 1
            guard case .success(.save(let record)) = decisions[index] else { continue }
            do {
                let required = try requiredTargets(of: record)
                for target in required where !(try exists(target.name, after: batch)) {
                    throw WireError(.validatingReferenceError, target.complaint)
                }
                guard next <= firstPass else { continue }
                for target in required { dependents[target.name, default: []].append(index) }
                referenceCount += try addDeletingReferences(of: record, batch, to: &additions)
                guard referenceCount + dependents.count <= limits.referencesPerRequest else {
                    throw WireError(
                        .badRequest, "a request has at most \(limits.referencesPerRequest) new references with an action",
                        nativeCode: .limitExceeded)
                }
            } catch let error as WireError {
                decisions[index] = .failure(error)
                batch.saved[record.recordName] = nil
                if try graph.record(record.recordName) == nil { worklist += dependents[record.recordName] ?? [] }
            }
        }
    }

    private struct RequiredTarget {
        var name: String
        var complaint: String
    }

    /// Records that must exist for a record to be saved: its parent, and targets of `VALIDATE`, unless it had them before. A parent may be
    /// deleted later.
    ///
    /// Source: Apple's documentation of `CKRecord.setParent(_:)`.
    private mutating func requiredTargets(of record: Record) throws -> [RequiredTarget] {
        let old = try graph.record(record.recordName)?.record
        var targets: [RequiredTarget] = []
        if let parent = record.sharing.parent, !parent.isEmpty, old?.sharing.parent != parent {
            targets.append(RequiredTarget(name: parent, complaint: "the parent of the record does not exist"))
        }
        for reference in try newReferences(of: record, old) where reference.action == .validate {
            targets.append(
                RequiredTarget(name: reference.recordName, complaint: "the target of a VALIDATE reference does not exist"))
        }
        return targets
    }

    /// References with an action that the stored record does not have.
    private func newReferences(of record: Record, _ old: Record?) throws(WireError) -> [RecordReference] {
        let references = record.actingReferences
        guard !references.isEmpty else { return [] }
        let links = old?.links ?? []
        var new: [RecordReference] = []
        for reference in references where !links.contains(ReferenceLink(target: reference.recordName, action: reference.action)) {
            guard reference.zoneID.map({ $0.zoneName == graph.zone.name }) ?? true else {
                throw WireError(.badRequest, "a reference with the action \(reference.action.rawValue) must stay in its zone")
            }
            guard !reference.recordName.utf8.contains(0) else {
                throw WireError(.badRequest, "a reference names a record with the character U+0000: no record has such a name")
            }
            new.append(reference)
        }
        return new
    }

    private mutating func exists(_ name: String, after batch: BatchNames) throws -> Bool {
        if batch.saved[name] != nil { return true }
        return try !batch.deleted.contains(name) && graph.record(name) != nil
    }

    /// Counts the `DELETE_SELF` references that a record adds.
    ///
    /// - Returns: How many there are.
    private mutating func addDeletingReferences(
        of record: Record, _ batch: BatchNames, to additions: inout [String: Int]
    ) throws -> Int {
        let most = limits.deletingReferencesPerRecord
        let targets = try newReferences(of: record, try graph.record(record.recordName)?.record)
            .filter { $0.action == .deleteSelf }.map(\.recordName)
        for target in targets {
            let present = try graph.sources(of: target, .deleteSelf, atMost: most + 1)
                .count { batch.saved[$0] == nil && !batch.deleted.contains($0) }
            guard present + additions[target, default: 0] + 1 <= most else {
                throw WireError(
                    .badRequest, "a record is the target of at most \(most) DELETE_SELF references", nativeCode: .limitExceeded)
            }
            additions[target, default: 0] += 1
        }
        return targets.count
    }

    // MARK: Deletions

    /// Refuses deletions of records that others hold on to and saves of records that would be deleted with them, and fills `cascaded`.
    ///
    /// - Returns: Whether any was refused.
    private mutating func refuseDeletions(_ names: [String], _ decisions: inout [Result<RecordDecision, WireError>]) throws -> Bool {
        let batch = BatchNames(names, decisions)
        var cascade = Cascade(batch)
        var refused: [String: WireError] = [:]
        for name in names where batch.deleted.contains(name) {
            guard try cascade.add(name, &graph, atMost: limits.recordsTakenAlong) else {
                refused[name] = WireError(
                    .badRequest,
                    "more than \(limits.recordsTakenAlong) records would be deleted with those of the request by their references",
                    nativeCode: .limitExceeded)
                continue
            }
        }
        if purpose.validatesDeletions {
            for (name, recordType) in try cascade.removeHeld(&graph, limits) {
                refused[name] = WireError(
                    .validatingReferenceError,
                    "a record of type '\(recordType)' refers to the record, or to one that would be deleted with it")
            }
        }
        if purpose.validatesSaves {
            for name in try savesWithDeletedTargets(batch, cascade.names) { refused[name] = Self.deletedTarget }
            // A stored reference would have kept its target: these are new, and their targets are deleted with others.
            for (name, record) in batch.saved where refused[name] == nil {
                let isBroken = record.links.contains { $0.action == .validate && cascade.names.contains($0.target) }
                if isBroken { refused[name] = Self.missingTarget }
            }
        }
        // A name has one operation: it is saved or deleted.
        for (index, name) in names.enumerated() {
            guard case .success = decisions[index], let error = refused[name] else { continue }
            decisions[index] = .failure(error)
        }
        cascaded = []
        var memory = 0
        for name in cascade.names.subtracting(batch.deleted).sorted() {
            guard let record = try graph.record(name) else { continue }
            memory += RecordSize.memory(of: record.record)
            guard !purpose.isLimited || memory <= limits.cascadedMemoryMax else { throw RecordGroups.tooLargeTogether }
            cascaded.append(record)
        }
        return !refused.isEmpty
    }

    private static let missingTarget = WireError(.validatingReferenceError, "the target of a VALIDATE reference does not exist")

    private static let deletedTarget = WireError(
        .validatingReferenceError,
        "the request deletes the target of a DELETE_SELF reference of the record: delete the record too, or save it without the reference")

    /// The saved records with `DELETE_SELF` references to records that the batch deletes.
    ///
    /// A rejected save leaves the record as it is stored. If that refers to a deleted record, it is deleted, and the saves that refer to it
    /// are rejected, too.
    private mutating func savesWithDeletedTargets(_ batch: BatchNames, _ deleted: Set<String>) throws -> Set<String> {
        guard !deleted.isEmpty else { return [] }
        var savedSources: [String: [String]] = [:]
        for (name, record) in batch.saved {
            for link in record.links where link.action == .deleteSelf { savedSources[link.target, default: []].append(name) }
        }
        guard !savedSources.isEmpty else { return [] }
        var rejected: Set<String> = []
        var deleted = deleted
        var worklist = Array(deleted)
        // The next round rejects the deletion that leads to more records.
        while deleted.count <= limits.recordsTakenAlong + batch.deleted.count, let target = worklist.popLast() {
            for name in savedSources[target] ?? [] where rejected.insert(name).inserted {
                let links = try graph.record(name)?.record.links ?? []
                guard links.contains(where: { $0.action == .deleteSelf && deleted.contains($0.target) }) else { continue }
                if deleted.insert(name).inserted { worklist.append(name) }
            }
            guard !rejected.isEmpty else { continue }
            for name in try graph.sources(of: target, .deleteSelf, atMost: limits.recordsTakenAlong + 1)
            where batch.saved[name] == nil || rejected.contains(name) {
                if deleted.insert(name).inserted { worklist.append(name) }
            }
        }
        return rejected
    }
}

/// Which records a batch saves and deletes.
struct BatchNames {
    var saved: [String: Record] = [:]
    var deleted: Set<String> = []

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
