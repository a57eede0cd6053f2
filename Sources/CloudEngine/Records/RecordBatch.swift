// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// The operations of one modify request on their way: decided one by one, then written together.
struct RecordBatch {
    private let operations: [RecordOperation]
    private let names: Set<String>
    private let zone: StoredZone
    private let rules: RecordRules
    private let unit: any PartitionWriter
    private let call: Call

    private var stored: [String: StoredRecord]
    private var schema: SchemaCheck
    private var access: RecordAccess
    private var sharing: SharingBatch
    private var quota: QuotaCheck
    /// Notifications for participants of shares.
    private(set) var news: [ShareNews] = []
    /// Shares that the caller leaves: to the caller they are gone.
    private var left: Set<String> = []
    private var decisions: [Result<RecordDecision, WireError>] = []
    private(set) var results: [RecordResult] = []
    /// Records that go because others go.
    private var cascaded: [StoredRecord] = []
    /// What changed, for subscriptions.
    private(set) var events: [RecordEvent] = []
    /// The number of the last change, if the results contain each one.
    private(set) var lastOwnChange: Int64?

    private let purpose: BatchPurpose

    init(
        _ operations: [RecordOperation], zone: StoredZone, _ rules: RecordRules, _ unit: any PartitionWriter, _ call: Call,
        for purpose: BatchPurpose = .request
    ) throws {
        self.operations = operations
        names = Set(operations.map(\.record.recordName))
        self.zone = zone
        self.rules = rules
        self.unit = unit
        self.call = call
        self.purpose = purpose
        access = RecordAccess(unit, call)
        sharing = try SharingBatch(operations.map(\.record.recordName), zone: zone, rules, unit, call)
        quota = try QuotaCheck(rules.quotas, zone: zone, unit, call)
        var stored = try RecordGroups.allRecords(
            named: operations.map(\.record.recordName), in: zone, unit,
            memoryMax: purpose.isLimited ? rules.limits.storedMemoryMax : .max)
        try UsersType.complete(&stored, named: operations.map(\.record.recordName), in: unit, call)
        self.stored = stored
        let types = operations.map(\.record.recordType) + stored.values.map(\.record.recordType)
        schema = try SchemaCheck(
            recordTypes: Set(types), growsByUse: rules.schemaByUse.contains(call.partition.environment),
            isPublic: call.partition.scope == .public, unit)
    }

    /// Bytes of the records that are there already and come back in the answer.
    var storedBytes: Int {
        operations.reduce(0) { sum, operation in
            guard operation.kind != .delete, operation.kind != .forceDelete else { return sum }
            return sum + (stored[operation.record.recordName].map { RecordSize.bytes(of: $0.record) } ?? 0)
        }
    }

    /// Bytes of the records as the batch leaves them.
    var changedBytes: Int { events.reduce(0) { $0 + ($1.new.map(RecordSize.bytes) ?? 0) } }

    /// - Throws: Failures of the storage only; a refused operation is a decision too.
    mutating func decideAll() throws {
        for operation in operations {
            do {
                decisions.append(.success(try decide(operation)))
            } catch let error as WireError {
                decisions.append(.failure(error))
            }
        }
        guard ReferenceCheck.isNeeded(for: decisions) else { return }
        let names = operations.map(\.record.recordName)
        var references = ReferenceCheck(
            stored, asked: names, zone: zone, unit, rules.limits, purpose)
        try references.settle(names, &decisions)
        cascaded = references.cascaded
        for record in cascaded { stored[record.record.recordName] = record }
    }

    /// Why the first operation that is refused is.
    var refusal: WireError? {
        for case .failure(let error) in decisions { return error }
        return nil
    }

    mutating func refuseAllIfAnyIsRefused() {
        guard decisions.contains(where: { if case .failure = $0 { true } else { false } }) else { return }
        decisions = decisions.map { decision in
            if case .success = decision { .failure(WireError(.atomicError, "atomic batch failed")) } else { decision }
        }
        cascaded = []
    }

    /// Stores the accepted decisions and fills `results`.
    ///
    /// - Returns: How many records changed.
    mutating func write() throws -> Int {
        let changes =
            decisions.count { decision in
                switch decision {
                case .success(.save), .success(.delete): true
                case .success(.nothing), .failure: false
                }
            } + cascaded.count
        var usage = StoredBytes(records: recordBytes)
        var number = changes == 0 ? 0 : try unit.raiseCounter(by: changes, adding: usage) - Int64(changes)
        var written: [StoredRecord] = []
        var links: [String: Int] = [:]
        for (operation, decision) in zip(operations, decisions) {
            switch decision {
            case .success(.save(let record)):
                number += 1
                written.append(StoredRecord(record: stamped(record, number), change: number))
                count(record, by: 1, in: &links)
                if let old = current(operation) { count(old, by: -1, in: &links) }
                results.append(
                    .record(left.contains(record.recordName) ? tombstone(of: record, number) : written[written.count - 1].record))
            case .success(.delete(let old)):
                number += 1
                written.append(StoredRecord(record: tombstone(of: old, number), change: number))
                count(old, by: -1, in: &links)
                results.append(.record(tombstone(of: old, number)))
            case .success(.nothing(let record)):
                results.append(
                    .record(Record(recordName: record.recordName, recordType: record.recordType, isDeleted: true)))
            case .failure(let error):
                let isConflict = error.code == .conflict || error.code == .exists
                var shown = isConflict && call.capabilities.contains(.serverRecord) ? current(operation) : nil
                if let record = shown, try !access.allows(.read, record) || !sharing.canSee(record) { shown = nil }
                results.append(.failure(recordName: operation.record.recordName, error, serverRecord: shown))
            }
        }
        for old in cascaded.map(\.record) {
            number += 1
            written.append(StoredRecord(record: tombstone(of: old, number), change: number))
            count(old, by: -1, in: &links)
        }
        guard changes > 0 else { return 0 }
        events = written.map { RecordEvent(old: present($0.record.recordName), new: $0.record.isDeleted ? nil : $0.record) }
        for (recordType, fields) in schema.added.sorted(by: { $0.key < $1.key }) {
            try unit.learn(fields, ofType: recordType)
        }
        try unit.save(written, in: zone.key, at: call.now)
        let tombstones = addedTombstones(written)
        if tombstones != 0 { try unit.addTombstones(tombstones) }
        let logged = logged(written)
        let before = stored
        let effects = try sharing.finish(written, lastChange: number) { name in
            before[name].flatMap { $0.record.isDeleted ? nil : $0.record }
        }
        news = effects.news
        var others = StoredBytes(records: effects.bytes)
        try ChangeLog().append(logged + effects.deletions, in: unit, call)
        links = links.filter { $0.value != 0 }
        if !links.isEmpty { others.assets = try unit.addLinks(links, in: zone.key, at: call.now) }
        usage += others
        var zone = zone
        zone.change = effects.change
        if cascaded.isEmpty, left.isEmpty, effects.change == number { lastOwnChange = number }
        zone.usage += usage
        try unit.save(zone, at: call.now)
        if others != StoredBytes() { try unit.addUsage(others) }
        try updateIndexes(written)
        let references = written.flatMap { $0.record.referenceChanges(after: present($0.record.recordName)) }
        if !references.isEmpty { try unit.apply(references, in: zone.key) }
        return changes
    }

    /// Tombstones after the batch, less those before it.
    private func addedTombstones(_ written: [StoredRecord]) -> Int64 {
        written.reduce(0) { sum, item in
            let wasDeleted = stored[item.record.recordName]?.record.isDeleted == true
            return sum + (item.record.isDeleted ? 1 : 0) - (wasDeleted ? 1 : 0)
        }
    }

    /// The written records as the change log names them.
    private func logged(_ written: [StoredRecord]) -> [ChangeLogEntry.Change] {
        let cascaded = Set(cascaded.map(\.record.recordName))
        return written.map { item in
            let name = item.record.recordName
            let previous = stored[name].flatMap { $0.change > 0 ? $0.change : nil }
            guard item.record.isDeleted else {
                return ChangeLogEntry.Change(number: item.change, previous: previous, from: present(name), to: item.record)
            }
            return ChangeLogEntry.Change(number: item.change, previous: previous, kind: cascaded.contains(name) ? .cascaded : .deleted)
        }
    }

    /// Bytes of records that the accepted decisions add.
    private var recordBytes: Int64 {
        let added = decisions.reduce(0 as Int64) { sum, decision in
            switch decision {
            case .success(.save(let record)): sum + size(record) - size(present(record.recordName))
            case .success(.delete(let old)): sum - size(old)
            case .success(.nothing), .failure: sum
            }
        }
        return cascaded.reduce(added) { $0 - size($1.record) }
    }

    private func size(_ record: Record?) -> Int64 { record.map { Int64(RecordSize.bytes(of: $0)) } ?? 0 }

    /// Keeps the indexes up that there are for the types of the records.
    private func updateIndexes(_ written: [StoredRecord]) throws {
        var known: [String: [StoredIndex]] = [:]
        var changes: [IndexChange] = []
        for record in written.map(\.record) {
            if known[record.recordType] == nil { known[record.recordType] = try unit.indexes(ofType: record.recordType) }
            let old = stored[record.recordName]?.record
            changes += (known[record.recordType] ?? []).compactMap { $0.change(of: record.recordName, from: old, to: record) }
        }
        if !changes.isEmpty { try unit.apply(changes, in: zone.key) }
    }

    /// The record there is, unless it was deleted.
    private func current(_ operation: RecordOperation) -> Record? { present(operation.record.recordName) }

    private func present(_ name: String) -> Record? {
        guard let record = stored[name]?.record, !record.isDeleted else { return nil }
        return record
    }

    private mutating func decide(_ operation: RecordOperation) throws -> RecordDecision {
        let incoming = operation.record
        if let error = NameChecks.record(incoming.recordName, rules.limits) { throw error }
        if let zoneID = incoming.zoneID {
            try ZoneAccess(unit, call).checkOwner(of: zoneID)
            guard zoneID.zoneName == zone.name else {
                throw WireError(.badRequest, "the record is of another zone than the request")
            }
        }
        let current = current(operation)
        try access.check(operation, over: current)
        try sharing.check(operation, over: current)
        let decision = try RecordDecision.make(operation.kind, incoming, over: current)
        if case .delete = decision, let remaining = sharing.left(operation, current) {
            left.insert(remaining.recordName)
            return .save(remaining)
        }
        guard case .save(var record) = decision else {
            if case .delete(let old) = decision { try quota.take(old, nil) }
            return decision
        }
        let (names, unit, zone) = (names, unit, zone)
        try sharing.complete(&record, operation, over: current) { name in
            // The root of a share may come with it; whether it is refused is not known yet where it comes later.
            if names.contains(name) { return true }
            return try unit.records(named: [name], in: zone.key)[name].map { !$0.record.isDeleted } ?? false
        }
        guard record.fields.count <= rules.limits.fieldsPerRecord else {
            throw WireError(
                .badRequest, "a record has at most \(rules.limits.fieldsPerRecord) fields", nativeCode: .limitExceeded)
        }
        if call.isParticipant { try checkVisibleTargets(of: record, over: current) }
        for case .list(let elements, _)? in incoming.fields.values.map(\.value) where elements.count > rules.limits.elementsPerList {
            throw WireError(
                .badRequest, "a list has at most \(rules.limits.elementsPerList) elements", nativeCode: .limitExceeded)
        }
        if record.recordType != ShareDetails.recordType { try schema.check(&record) }
        try AssetCheck(unit, over: current).check(&record)
        guard RecordSize.bytes(of: record) <= rules.limits.recordBytes else {
            throw WireError(
                .badRequest, "a record has at most \(rules.limits.recordBytes) bytes without its assets",
                nativeCode: .limitExceeded)
        }
        if stored[record.recordName] == nil { try quota.checkNewName() }
        try quota.take(current, record)
        return .save(record)
    }

    /// Refuses a participant's new `VALIDATE` references to records that the participant does not see, as if they did not exist: they would
    /// reveal hidden records, and keep the owner from deleting them.
    private func checkVisibleTargets(of record: Record, over current: Record?) throws {
        let oldLinks = current?.links ?? []
        for link in record.links.subtracting(oldLinks) where link.action == .validate && !names.contains(link.target) {
            guard let target = try unit.records(named: [link.target], in: zone.key)[link.target]?.record, !target.isDeleted,
                try sharing.canSee(target)
            else { throw WireError(.validatingReferenceError, "the target of a VALIDATE reference does not exist") }
        }
    }

    /// The change tag of a version. Clients of a restored server compare tags: see ``WireError/restoredChangeTag``.
    static func changeTag(_ number: Int64) -> String { String(number, radix: 36) }

    private func stamped(_ record: Record, _ number: Int64) -> Record {
        let stamp = RecordStamp(
            timestamp: call.now, userRecordName: call.caller.userRecordName, deviceID: call.caller.deviceID)
        var record = record
        record.zoneID = nil
        record.recordChangeTag = Self.changeTag(number)
        record.created = stored[record.recordName].flatMap { $0.record.isDeleted ? nil : $0.record.created } ?? stamp
        record.modified = stamp
        return record
    }

    private func tombstone(of record: Record, _ number: Int64) -> Record {
        var tombstone = Record(
            recordName: record.recordName, recordType: record.recordType, recordChangeTag: Self.changeTag(number),
            isDeleted: true)
        // A reader of their own records only receives deletions of those only.
        if call.partition.scope == .public { tombstone.created = record.created }
        return tombstone
    }

    private func count(_ record: Record, by difference: Int, in links: inout [String: Int]) {
        for asset in record.assets { links[asset.fileChecksum, default: 0] += difference }
    }
}
