// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation

/// Copies the records of a database to another one, page by page: a page is in memory, and one asset at a time is in a file.
///
/// Each page is written by operations that can be repeated, and then the position after it is stored: a copy that was interrupted
/// repeats one page. Records that others require are written before them. Those that the destination rejects are retried at the end.
struct RecordCopier {
    let source: CloudEnd
    let destination: CloudEnd
    let file: CopyStateFile
    private(set) var state: CopyState
    /// Receives the number of records after each page.
    var progress: (Int) -> Void = { _ in }
    /// Zones with expired sync tokens: later deletions in the source are unknown.
    var restarted: [String] { state.restarted ?? [] }
    /// The most rejected records with which a copy continues.
    var deferredMax = CopyState.deferredMax
    /// The most deletions of a part that wait for the end of the run.
    var deletionsMax = CopyState.deletionsMax

    init(from source: CloudEnd, to destination: CloudEnd, file: CopyStateFile, state: CopyState) {
        self.source = source
        self.destination = destination
        self.file = file
        self.state = state
    }

    /// - Throws: `CKError` if a server cannot be reached or requires a sign-in, `CommandError` if the copy cannot continue. The state
    ///   has everything that was written.
    mutating func copy(_ parts: [CopyPart]) async throws {
        state.beginRun()
        try await createZones(of: parts.filter { $0.recordType == nil })
        for part in parts where !state[part].isComplete { try await copy(part) }
        try await retryDeferred()
        for part in parts { try await executeDeletions(of: part) }
        try await retryDeferred()
        state.isRunning = false
        try file.write(state)
    }

    /// Creates missing zones. A zone that was deleted in the destination has none of the records that the state has as copied: it is read
    /// again from its start.
    private mutating func createZones(of parts: [CopyPart]) async throws {
        if parts.isEmpty { return }
        let present = Set(try await destination.zones())
        let lost = parts.filter { !present.contains($0.zone) && state[$0] != CopyState.Progress() }
        for part in lost { state[part] = CopyState.Progress() }
        // Once the zone is there, nothing else shows that its records are not.
        if !lost.isEmpty { try file.write(state) }
        try await destination.create(zones: parts.map(\.zone).filter { !present.contains($0) })
    }

    private mutating func copy(_ part: CopyPart) async throws {
        var hasRestarted = false
        var positions = PagePositions()
        while !state[part].isComplete {
            var page: CloudEnd.Page
            do {
                page = try await source.page(of: part, after: state[part].position)
            } catch let error as CKError where error.code == .changeTokenExpired && state[part].position != nil {
                // A rejected position counts as expired. A source that rejects a new one has another reason, and would do it forever.
                guard !hasRestarted else {
                    throw CommandError(
                        "\(source.name) rejected a position of \(part.shown) that it had returned in this run (\(error.localizedDescription)). Run the command again later: it continues."
                    )
                }
                hasRestarted = true
                state[part].position = nil
                if part.recordType == nil { state.restarted = restarted + [part.zone] }
                continue
            }
            postponeDeletions(of: &page, part)
            try await write(page, toZone: part.zone)
            // A feed that does not advance would be read forever.
            guard page.isLast || page.position.map({ positions.advance(from: state[part].position, to: $0) }) ?? false else {
                throw CommandError("\(source.name) returned the same page of \(part.shown) twice: try again later.")
            }
            if let deletions = state[part].deletions, deletions.count > deletionsMax { try await executeDeletions(of: part) }
            state[part].position = page.position
            state[part].isComplete = page.isLast
            try file.write(state)
            progress(state.copied)
        }
    }

    /// Takes the deletions out of a page. A deletion cascades to records that refer to the deleted one: those that the source moved to
    /// another record before may be on a later page, and records that refer to them on none.
    private mutating func postponeDeletions(of page: inout CloudEnd.Page, _ part: CopyPart) {
        // A record that was deleted and created again has both changes, if that happened between two pages.
        let saved = Set(page.records.map(\.recordName))
        let deletions = (state[part].deletions ?? []).filter { !saved.contains($0) } + page.deletions
        page.deletions = []
        state[part].deletions = deletions.isEmpty ? nil : deletions
    }

    /// Executes the deletions of a part. Records that were written without their references to deleted ones are deferred, since a look-up
    /// in the source returns them with these references.
    private mutating func executeDeletions(of part: CopyPart) async throws {
        let (deletions, dependents) = (state[part].deletions ?? [], state[part].dependents ?? [])
        if deletions.isEmpty, dependents.isEmpty { return }
        if !deletions.isEmpty {
            try await write(CloudEnd.Page(records: [], deletions: deletions, position: nil, isLast: true), toZone: part.zone)
        }
        state[part].deletions = nil
        state[part].dependents = nil
        for name in Set(dependents).subtracting(deletions).sorted() {
            state.deferRecord(CopyState.Deferred(zone: part.zone, recordName: name, reason: "it refers to a deleted record"))
        }
        try file.write(state)
    }

    /// Names of records that are deleted at the end of the run.
    private func pendingDeletions(inZone zone: String) -> Set<String> {
        Set(state[CopyPart(zone: zone, recordType: nil)].deletions ?? [])
    }

    /// Stores which of the written records lack references to records that are still to be deleted.
    private mutating func storeDependents(_ dependents: Set<String>, written: [RecordOperation], inZone zone: String) {
        let part = CopyPart(zone: zone, recordType: nil)
        let former = Set(state[part].dependents ?? [])
        if former.isEmpty, dependents.isEmpty { return }
        let names = former.subtracting(written.map(\.record.recordName)).union(dependents)
        state[part].dependents = names.isEmpty ? nil : names.sorted()
    }

    private mutating func write(_ page: CloudEnd.Page, toZone zone: String) async throws {
        for (name, reason) in page.failures { try deferRecord(name, zone, reason) }
        let pending = pendingDeletions(inZone: zone)
        var operations: [RecordOperation] = []
        // The source saved them after the deletion, which would delete them in the destination.
        var dependents: Set<String> = []
        for record in page.records {
            guard CopiedRecord.isCopied(record) else {
                state.skipped += 1
                continue
            }
            do {
                var copy = try await withAssets(record, zone)
                if CopiedRecord.removeDeletingReferences(to: pending, from: &copy) { dependents.insert(record.recordName) }
                operations.append(RecordOperation(.forceReplace, copy))
            } catch let error as CKError where !error.mayPass && error.code != .notAuthenticated {
                try deferRecord(record.recordName, zone, error.localizedDescription)
            }
        }
        let deletions = page.deletions.map { RecordOperation(.forceDelete, Record(recordName: $0)) }
        var failures = try await destination.modify(operations + deletions, inZone: zone)
        try await retry(operations, &failures, inZone: zone)
        storeDependents(dependents, written: operations, inZone: zone)
        for operation in operations + deletions {
            let name = operation.record.recordName
            let isDeletion = operation.kind == .forceDelete
            if let error = failures[name], !(isDeletion && error.code == .notFound) {
                try deferRecord(name, zone, error.reason)
                continue
            }
            state.forget(name, inZone: zone)
            if isDeletion {
                state.deleted += 1
            } else if !dependents.contains(name) {
                // The others are written again.
                state.copied += 1
            }
        }
    }

    /// Retries records that were rejected since others are missing, after those. A feed has a parent behind thousands of children if
    /// the parent changed last.
    private func retry(_ operations: [RecordOperation], _ failures: inout [String: WireError], inZone zone: String) async throws {
        var rejected = operations.filter { operation in
            // No documented code is about a missing parent.
            switch failures[operation.record.recordName]?.code {
            case .validatingReferenceError?, .badRequest?, .notFound?: !CopiedRecord.requiredTargets(of: operation.record).isEmpty
            default: false
            }
        }
        if rejected.isEmpty { return }
        let missing = try await copyTargets(of: rejected.map(\.record), inZone: zone)
        for index in rejected.indices {
            // The source allows the deletion of a parent that other records name.
            guard let parent = rejected[index].record.sharing.parent, missing.contains(parent) else { continue }
            rejected[index].record.sharing.parent = nil
        }
        // Some may require others of the page.
        while !rejected.isEmpty {
            let repeated = try await destination.modify(rejected, inZone: zone)
            for operation in rejected { failures[operation.record.recordName] = repeated[operation.record.recordName] }
            guard repeated.count < rejected.count else { return }
            rejected = rejected.filter { repeated[$0.record.recordName] != nil }
        }
    }

    /// Copies the records that others require, and those that they require, without counting them: their own pages follow.
    ///
    /// - Returns: Names of required records that the source does not have.
    private func copyTargets(of records: [Record], inZone zone: String) async throws -> Set<String> {
        var visited = Set(records.map(\.recordName))
        var required = records.reduce(into: Set<String>()) { $0.formUnion(CopiedRecord.requiredTargets(of: $1)) }
        var missing: Set<String> = []
        let pending = pendingDeletions(inZone: zone)
        // Nearest first. As many as a page has are in memory.
        var targets: [RecordOperation] = []
        while targets.count < CloudEnd.recordsMax {
            let names = required.subtracting(visited).sorted().prefix(CloudEnd.recordsMax - targets.count)
            if names.isEmpty { break }
            visited.formUnion(names)
            required = []
            let (found, failures) = try await source.lookUp(Array(names), inZone: zone)
            for name in names {
                guard let record = found[name] else {
                    if failures[name] == nil { missing.insert(name) }
                    continue
                }
                guard CopiedRecord.isCopied(record) else { continue }
                required.formUnion(CopiedRecord.requiredTargets(of: record))
                do {
                    var copy = try await withAssets(record, zone)
                    // Its own page stores it as a dependent.
                    _ = CopiedRecord.removeDeletingReferences(to: pending, from: &copy)
                    targets.append(RecordOperation(.forceReplace, copy))
                } catch let error as CKError where !error.mayPass && error.code != .notAuthenticated {
                    // Its own page reports it.
                    continue
                }
            }
        }
        _ = try await destination.modify(Array(targets.reversed()), inZone: zone)
        return missing
    }

    private mutating func deferRecord(_ name: String, _ zone: String, _ reason: String) throws {
        state.deferRecord(CopyState.Deferred(zone: zone, recordName: name, reason: reason))
        guard state.deferred.count <= deferredMax else {
            throw CommandError(
                "\(destination.name) rejects too many records (\(reason)): correct the reason, such as a missing record type, which 'tarn schema import' adds, and run the command again."
            )
        }
    }

    /// The record with its assets uploaded to the destination.
    private func withAssets(_ record: Record, _ zone: String) async throws -> Record {
        var copy = CopiedRecord.content(of: record)
        for (name, field) in copy.fields {
            switch field.value {
            case .asset(let asset)?: copy.fields[name]?.value = .asset(try await move(asset, of: record, name, zone))
            case .list(let elements, of: .asset)?:
                var moved: [FieldValue] = []
                for case .asset(let asset) in elements { moved.append(.asset(try await move(asset, of: record, name, zone))) }
                copy.fields[name]?.value = .list(moved, of: .asset)
            default: break
            }
        }
        return copy
    }

    private func move(_ asset: AssetValue, of record: Record, _ field: String, _ zone: String) async throws -> AssetValue {
        let place = CloudEnd.AssetPlace(recordName: record.recordName, field: field, zone: zone)
        return try await source.withContent(of: asset, at: place) { url in
            try await destination.patience {
                try await destination.client.uploadAsset(
                    .file(url), recordType: record.recordType, recordName: record.recordName, fieldName: field,
                    zoneID: ZoneID(zoneName: zone))
            }
        }
    }

    /// Writes the rejected records again, until none of them is accepted any more.
    private mutating func retryDeferred() async throws {
        while !state.deferred.isEmpty {
            let before = state.deferred
            for zone in Set(before.map(\.zone)).sorted() {
                let names = before.filter { $0.zone == zone }.map(\.recordName)
                var parts = LookUpParts(names, .documentedWebServices)
                while let part = parts.next() {
                    let answer: (found: [String: Record], failures: [String: WireError])
                    do {
                        answer = try await source.lookUp(part, inZone: zone)
                    } catch let error as CKError where error.isZoneMissing {
                        // The destination's records stay: a missing zone may be a mistake. The rejected ones are reported.
                        continue
                    }
                    let deletions = part.filter { answer.found[$0] == nil && answer.failures[$0] == nil }
                    let page = CloudEnd.Page(
                        records: part.compactMap { answer.found[$0] }, deletions: deletions, position: nil, isLast: true,
                        failures: answer.failures.mapValues(\.reason))
                    try await write(page, toZone: zone)
                }
            }
            try file.write(state)
            guard state.deferred.count < before.count else { return }
        }
    }
}
