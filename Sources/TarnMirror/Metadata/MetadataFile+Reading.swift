// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import MirroringCore

/// Queries of the sync metadata.
extension MetadataFile {
    /// Values of one query: SQLite limits the variables of a statement.
    private static let valuesMax = 500

    func objects(_ entity: MetadataModel.Entity, _ column: String, in values: [String]) throws -> [NSManagedObject] {
        var found: [NSManagedObject] = []
        for start in stride(from: 0, to: values.count, by: Self.valuesMax) {
            let part = Array(values[start..<min(start + Self.valuesMax, values.count)])
            found += try objects(entity, where: NSPredicate(format: "%K IN %@", argumentArray: [column, part]))
        }
        return found
    }

    // MARK: Records

    func records(named names: [String]) throws -> [RecordColumns] { try objects(.record, "name", in: names).map { RecordColumns($0) } }

    func records(ofObjects uris: [String]) throws -> [RecordColumns] { try objects(.record, "uri", in: uris).map { RecordColumns($0) } }

    func record(numbered key: Int64) throws -> RecordColumns? {
        try objects(.record, where: NSPredicate(format: "key == %@", argumentArray: [NSNumber(value: key)]), limit: 1).first
            .map { RecordColumns($0) }
    }

    func allRecords() throws -> [RecordColumns] { try objects(.record).map { RecordColumns($0) } }

    /// The stages of items that are to be sent. The others have no rejection: an accepted, fetched or missing item has none to retry.
    private static let unsent: [MirrorStage] = [.needsUpload, .needsDelete]

    /// The items of a stage that are to be sent, without those that the server rejected permanently.
    private static func pending(_ stage: MirrorStage) -> NSPredicate {
        NSPredicate(format: "stage == %@ AND failure == nil", argumentArray: [NSNumber(value: stage.rawValue)])
    }

    /// Returns the oldest items, by one query for each stage: an index has the items of a stage in their order.
    private func pending(_ entity: MetadataModel.Entity, _ stages: [MirrorStage], by key: String, limit: Int) throws -> [NSManagedObject] {
        try stages.flatMap { try objects(entity, where: Self.pending($0), sortedBy: ["mark", key], limit: limit) }
    }

    func pendingRecords(_ stages: [MirrorStage], limit: Int) throws -> [RecordColumns] {
        let found = try pending(.record, stages, by: "key", limit: limit).map { RecordColumns($0) }
        return Array(found.sorted { ($0.mark, $0.key) < ($1.mark, $1.key) }.prefix(limit))
    }

    func pendingCount() throws -> Int {
        var count = 0
        for entity in [MetadataModel.Entity.record, .link] {
            for stage in Self.unsent { count += try self.count(entity, where: Self.pending(stage)) }
        }
        return count
    }

    /// The items of the unsent stages that the server rejected permanently.
    private static var rejected: NSPredicate {
        NSPredicate(format: "stage IN %@ AND failure != nil", argumentArray: [unsent.map { NSNumber(value: $0.rawValue) }])
    }

    /// Returns the number of items that the server rejected permanently, and one of the reasons.
    func rejections() throws -> (count: Int, reason: String?) {
        var count = 0
        var reason: String?
        for entity in [MetadataModel.Entity.record, .link] {
            count += try self.count(entity, where: Self.rejected)
            reason = try reason ?? objects(entity, where: Self.rejected, sortedBy: ["failure"], limit: 1).first?.text("failure")
        }
        return (count, reason)
    }

    /// Clears permanent rejections: they are retried once in each launch, since the server's schema or rules may have changed.
    func clearRejections() throws {
        for entity in [MetadataModel.Entity.record, .link] {
            for object in try objects(entity, where: Self.rejected) { object.setValue(nil, forKey: "failure") }
        }
    }

    /// Returns the names of records that the server does not have any more.
    func missingNames() throws -> [String] {
        try objects(
            .record, where: NSPredicate(format: "stage == %@", argumentArray: [NSNumber(value: MirrorStage.missing.rawValue)]),
            sortedBy: ["name"]
        ).compactMap { $0.text("name") }
    }

    /// Returns the names of records and links that the server had before a full fetch and that the fetch did not return.
    func unseenNames(before generation: Int64) throws -> [String] {
        let predicate = NSPredicate(
            format: "(tag != nil OR stage == %@) AND generation < %@",
            argumentArray: [NSNumber(value: MirrorStage.uploaded.rawValue), NSNumber(value: generation)])
        return try [MetadataModel.Entity.record, .link].flatMap { try objects($0, where: predicate).compactMap { $0.text("name") } }
            .sorted()
    }

    // MARK: Quarantined values

    private static var quarantined: NSPredicate { NSPredicate(format: "quarantine != nil", argumentArray: []) }

    /// Returns the records with quarantined values, in the order of their names.
    func quarantinedRecords() throws -> [RecordColumns] {
        try objects(.record, where: Self.quarantined, sortedBy: ["name"]).map { RecordColumns($0) }
    }

    /// Counts the records with quarantined values, unless the number is known: there is no index, since almost always there are none.
    func quarantinedCount() throws -> Int {
        let count = try knownQuarantinedCount ?? self.count(.record, where: Self.quarantined)
        knownQuarantinedCount = count
        return count
    }

    // MARK: Links

    func hasLinks() throws -> Bool { try has(.link) }

    func links(named names: [String]) throws -> [LinkState] { try objects(.link, "name", in: names).compactMap { LinkColumns($0).state } }

    /// Returns the links with a record at either end, in the order of their names.
    func links(touching name: String) throws -> [LinkState] {
        try links(NSPredicate(format: "firstRecord == %@ OR secondRecord == %@", argumentArray: [name, name]))
    }

    func links(of pair: LinkPair) throws -> [LinkState] {
        try links(
            NSPredicate(
                format: "firstRecord == %@ AND secondRecord == %@ AND entities == %@ AND relationships == %@",
                argumentArray: [pair.first, pair.second, pair.kind.entityNames, pair.kind.relationships]))
    }

    private func links(_ predicate: NSPredicate) throws -> [LinkState] {
        try objects(.link, where: predicate, sortedBy: ["name"]).compactMap { LinkColumns($0).state }
    }

    func pendingLinks(limit: Int) throws -> [LinkState] {
        let found = try pending(.link, Self.unsent, by: "name", limit: limit).map { LinkColumns($0) }
        return found.sorted { ($0.mark, $0.name) < ($1.mark, $1.name) }.prefix(limit).compactMap(\.state)
    }

    // MARK: Deferred references

    func deferredReferences(from source: String) throws -> [ParkedRelationship] { try deferredReferences("source", source) }

    func deferredReferences(to destination: String) throws -> [ParkedRelationship] { try deferredReferences("destination", destination) }

    private func deferredReferences(_ column: String, _ name: String) throws -> [ParkedRelationship] {
        try objects(
            .deferred, where: NSPredicate(format: "%K == %@", argumentArray: [column, name]), sortedBy: ["source", "relationship"]
        ).map { DeferredColumns($0).reference }
    }

    // MARK: Conflicts

    func conflicts() throws -> [(number: Int64, entry: ConflictColumns)] {
        try objects(.conflict, sortedBy: ["number"]).map { ($0.number("number"), ConflictColumns($0)) }
    }

    /// Counts the entries of the conflict log, unless the number is known.
    func conflictCount() throws -> Int {
        let count = try knownConflictCount ?? self.count(.conflict)
        knownConflictCount = count
        return count
    }

    func removeConflicts(_ numbers: [Int64]) throws {
        knownConflictCount = nil
        for number in numbers {
            let predicate = NSPredicate(format: "number == %@", argumentArray: [NSNumber(value: number)])
            for object in try objects(.conflict, where: predicate) { context.delete(object) }
        }
    }
}

extension RecordColumns {
    init(_ object: NSManagedObject) {
        self.init(
            name: object.text("name") ?? "", key: object.number("key"), entity: object.text("entityName") ?? "",
            uri: object.text("uri") ?? "",
            tag: object.text("tag"), base: object.bytes("base"), unapplied: object.bytes("unapplied"), digests: object.text("digests"),
            stage: Int(object.number("stage")), mark: object.number("mark"), failure: object.text("failure"),
            generation: object.number("generation"), creator: object.text("creator"), created: object.optionalNumber("created"),
            quarantine: object.text("quarantine"))
    }
}

extension LinkColumns {
    init(_ object: NSManagedObject) {
        self.init(
            name: object.text("name") ?? "", entities: object.text("entities") ?? "", relationships: object.text("relationships") ?? "",
            first: object.text("firstRecord") ?? "", second: object.text("secondRecord") ?? "", tag: object.text("tag"),
            stage: Int(object.number("stage")), mark: object.number("mark"), failure: object.text("failure"),
            generation: object.number("generation"))
    }
}

extension DeferredColumns {
    init(_ object: NSManagedObject) {
        self.init(
            source: object.text("source") ?? "", relationship: object.text("relationship") ?? "",
            destination: object.text("destination") ?? "")
    }
}

extension ConflictColumns {
    init(_ object: NSManagedObject) {
        self.init(
            noted: (object.value(forKey: "noted") as? NSNumber)?.doubleValue ?? 0, entity: object.text("entityName") ?? "",
            record: object.text("recordName") ?? "", property: object.text("property") ?? "", losing: object.bytes("losing"),
            winner: Int(object.number("winner")), losingStamp: object.optionalNumber("losingStamp"))
    }
}
