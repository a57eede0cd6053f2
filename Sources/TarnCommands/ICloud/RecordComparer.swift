// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation

/// Compares two databases record by record, with a page of each in memory.
///
/// Records that change during the comparison may be reported, so clients are best idle.
struct RecordComparer {
    let iCloud: CloudEnd
    let tarn: CloudEnd
    /// Receives each difference when it is found.
    let report: (_ zone: String, _ recordName: String, _ recordType: String, RecordDifference) -> Void
    var progress: (Int) -> Void = { _ in }
    private(set) var compared = 0
    private(set) var differing = 0
    /// Records that a server has and could not return, or that cannot be decoded. They are not compared.
    private(set) var failed = 0
    /// Zones and names of the failed records: each is reported once.
    private var failedNames: Set<[String]> = []

    init(
        iCloud: CloudEnd, tarn: CloudEnd,
        report: @escaping (_ zone: String, _ recordName: String, _ recordType: String, RecordDifference) -> Void
    ) {
        self.iCloud = iCloud
        self.tarn = tarn
        self.report = report
    }

    mutating func compare(_ parts: [CopyPart]) async throws {
        for part in parts {
            try await forEachPage(of: part, at: iCloud) { comparer, records in try await comparer.compare(records, part) }
            // The records of both sides were compared; those of this side alone are left.
            try await forEachPage(of: part, at: tarn) { comparer, records in try await comparer.findMissing(records, part) }
        }
    }

    private mutating func forEachPage(
        of part: CopyPart, at end: CloudEnd, _ body: (inout RecordComparer, [Record]) async throws -> Void
    ) async throws {
        var position: String?
        var positions = PagePositions()
        while true {
            let page: CloudEnd.Page
            do {
                page = try await end.page(of: part, after: position)
            } catch let error as CKError where error.isZoneMissing {
                return
            }
            try await reportFailures(page.failures, part, at: end)
            try await body(&self, page.records.filter(CopiedRecord.isCopied))
            progress(compared)
            if page.isLast { return }
            // The records behind it would count as equal.
            guard let next = page.position, positions.advance(from: position, to: next) else {
                throw CommandError("\(end.name) returned the same page of \(part.shown) twice: try again later.")
            }
            position = next
        }
    }

    /// Reports the records of a page that a look-up does not return either.
    ///
    /// - Throws: `CommandError` for a record that the look-up returns: the page lacks it for a while only.
    private mutating func reportFailures(_ failures: [String: String], _ part: CopyPart, at end: CloudEnd) async throws {
        if failures.isEmpty { return }
        let (found, reasons) = try await end.lookUp(failures.keys.sorted(), inZone: part.zone)
        if let name = found.keys.min() {
            throw CommandError(
                "\(end.name) lists the record \(name) of \(part.shown) and does not return it (\(failures[name] ?? "")): try again later.")
        }
        for (name, error) in reasons.sorted(by: { $0.key < $1.key }) {
            reportFailure(of: name, part.recordType ?? "", error, part, at: end)
        }
    }

    private mutating func reportFailure(of name: String, _ type: String, _ error: WireError, _ part: CopyPart, at end: CloudEnd) {
        guard failedNames.insert([part.zone, name]).inserted else { return }
        failed += 1
        report(part.zone, name, type, .unreadable("\(end.name): \(error.reason)"))
    }

    private mutating func compare(_ records: [Record], _ part: CopyPart) async throws {
        let (others, failures) = try await namesakes(of: records, part, at: tarn)
        for record in records {
            if let error = failures[record.recordName] {
                reportFailure(of: record.recordName, record.recordType, error, part, at: tarn)
                continue
            }
            compared += 1
            guard let other = others[record.recordName] else {
                found(.onlyInICloud, record, part)
                continue
            }
            let comparison = RecordComparison(iCloud: record, tarn: other, inZone: part.zone)
            var fields = comparison.fields
            for (field, one, other) in comparison.undecided where !fields.contains(field) {
                let place = CloudEnd.AssetPlace(recordName: record.recordName, field: field, zone: part.zone)
                if try await !hasEqualContents(one, other, at: place) { fields.append(field) }
            }
            var differences = comparison.differences
            if !fields.isEmpty { differences.append(.fields(fields.sorted())) }
            if !differences.isEmpty { differing += 1 }
            for difference in differences { report(part.zone, record.recordName, record.recordType, difference) }
        }
    }

    /// Whether two assets have the same content. An asset without its content, which a server lost, equals no other.
    private func hasEqualContents(_ one: AssetValue, _ other: AssetValue, at place: CloudEnd.AssetPlace) async throws -> Bool {
        do {
            return try await iCloud.digest(of: one, at: place) == tarn.digest(of: other, at: place)
        } catch let error as CKError where error.isAssetMissing {
            return false
        }
    }

    private mutating func findMissing(_ records: [Record], _ part: CopyPart) async throws {
        let (others, failures) = try await namesakes(of: records, part, at: iCloud)
        for record in records where others[record.recordName].map(CopiedRecord.isCopied) != true {
            if let error = failures[record.recordName] {
                reportFailure(of: record.recordName, record.recordType, error, part, at: iCloud)
                continue
            }
            compared += 1
            found(.onlyInTarn, record, part)
        }
    }

    /// The records of the same names at the other end, and the errors of those that it could not return. A missing zone has none.
    private func namesakes(
        of records: [Record], _ part: CopyPart, at end: CloudEnd
    ) async throws -> (found: [String: Record], failures: [String: WireError]) {
        do {
            return try await end.lookUp(records.map(\.recordName), inZone: part.zone)
        } catch let error as CKError where error.isZoneMissing {
            return ([:], [:])
        }
    }

    private mutating func found(_ difference: RecordDifference, _ record: Record, _ part: CopyPart) {
        differing += 1
        report(part.zone, record.recordName, record.recordType, difference)
    }
}
