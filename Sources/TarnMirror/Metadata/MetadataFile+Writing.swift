// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import MirroringCore

/// Writes of the sync metadata. They are in the file once ``MetadataFile/save()`` returns.
extension MetadataFile {
    /// Entries of the conflict log that are stored; older ones are removed.
    private static let conflictsMax = 10_000

    func apply(_ changes: MetadataChanges) throws {
        if knownQuarantinedCount != 0 || changes.records.contains(where: { $0.quarantine != nil }) { knownQuarantinedCount = nil }
        try remove(.record, changes.removedRecords)
        try remove(.link, changes.removedLinks)
        let records = try existing(.record, changes.records.map(\.name))
        for columns in changes.records { columns.write(to: records[columns.name] ?? insert(.record)) }
        let links = try existing(.link, changes.links.map(\.name))
        for columns in changes.links { columns.write(to: links[columns.name] ?? insert(.link)) }
        for reference in changes.resolved + changes.deferred { try removeDeferredReference(reference) }
        for reference in changes.deferred { reference.write(to: insert(.deferred)) }
        try append(changes.conflicts)
        if let state = changes.state { try set(state) }
    }

    private func existing(_ entity: MetadataModel.Entity, _ names: [String]) throws -> [String: NSManagedObject] {
        var objects: [String: NSManagedObject] = [:]
        for object in try self.objects(entity, "name", in: names) { objects[object.text("name") ?? ""] = object }
        return objects
    }

    private func remove(_ entity: MetadataModel.Entity, _ names: [String]) throws {
        for object in try existing(entity, names).values { context.delete(object) }
        // A record of the same name may be written next, as an object of its own.
        if !names.isEmpty { context.processPendingChanges() }
    }

    private func removeDeferredReference(_ reference: DeferredColumns) throws {
        let predicate = NSPredicate(
            format: "source == %@ AND relationship == %@", argumentArray: [reference.source, reference.relationship])
        for object in try objects(.deferred, where: predicate) { context.delete(object) }
    }

    private func append(_ conflicts: [ConflictColumns]) throws {
        if conflicts.isEmpty { return }
        knownConflictCount = nil
        var number = try maximum(of: "number", in: .conflict)
        for conflict in conflicts {
            number += 1
            let object = insert(.conflict)
            object.set("number", number)
            conflict.write(to: object)
        }
        let oldest = NSPredicate(format: "number <= %@", argumentArray: [NSNumber(value: number - Int64(Self.conflictsMax))])
        for object in try objects(.conflict, where: oldest) { context.delete(object) }
    }

    /// Puts an item behind all others in the queue.
    func moveToEndOfQueue(_ name: String, mark: Int64) throws {
        for entity in [MetadataModel.Entity.record, .link] {
            for object in try existing(entity, [name]).values { object.set("mark", mark) }
        }
    }

    // MARK: Resets

    /// Marks records and links to be sent, as if the server had nothing of them. Records that the server does have are merged when they are
    /// fetched: values that differ go to the conflict log.
    ///
    /// - Parameter isLost: Whether the server lacks the version of an item with this change tag and stage.
    func markUnsent(where isLost: (String?, MirrorStage?) -> Bool) throws {
        knownQuarantinedCount = nil
        for entity in [MetadataModel.Entity.record, .link] {
            for object in try objects(entity) where isLost(object.text("tag"), MirrorStage(rawValue: Int(object.number("stage")))) {
                if object.number("stage") == Int64(MirrorStage.needsDelete.rawValue) {
                    context.delete(object)
                    continue
                }
                object.setValue(nil, forKey: "tag")
                object.setValue(nil, forKey: "failure")
                object.set("stage", Int64(MirrorStage.needsUpload.rawValue))
                // Fields that this version of the model lacks stay: a record that the server does not have is sent with them.
                if entity == .record {
                    object.setValue(nil, forKey: "base")
                    object.setValue(nil, forKey: "digests")
                    object.setValue(nil, forKey: "quarantine")
                }
            }
        }
    }

    // MARK: Journal

    /// Writes changes that belong to a save of the app's store, before that save: see ``MirroredStore/apply(_:assets:)``.
    func writeJournal(_ changes: MetadataChanges, identifier: String) throws {
        let object = insert(.journal)
        object.setValue(identifier, forKey: "identifier")
        object.setValue(try PropertyListEncoder().encode(changes), forKey: "content")
    }

    func journal() throws -> (identifier: String, changes: MetadataChanges)? {
        guard let object = try objects(.journal, limit: 1).first, let identifier = object.text("identifier"),
            let content = object.bytes("content")
        else { return nil }
        return (identifier, try PropertyListDecoder().decode(MetadataChanges.self, from: content))
    }

    func removeJournal() throws { for object in try objects(.journal) { context.delete(object) } }

    // MARK: Requests

    struct StoredRequest {
        let key: String
        let body: Data
        /// Details of the items that the body lacks: a line for each.
        let notes: String
    }

    func append(_ request: StoredRequest) throws {
        let object = insert(.request)
        object.set("number", try maximum(of: "number", in: .request) + 1)
        object.setValue(request.key, forKey: "key")
        object.setValue(request.body, forKey: "body")
        object.setValue(request.notes, forKey: "notes")
        object.set("attempts", 0)
    }

    func firstRequest() throws -> StoredRequest? {
        try objects(.request, sortedBy: ["number"], limit: 1).first.flatMap { object in
            guard let key = object.text("key"), let body = object.bytes("body") else { return nil }
            return StoredRequest(key: key, body: body, notes: object.text("notes") ?? "")
        }
    }

    func requests() throws -> [(body: Data, attempts: Int64)] {
        try objects(.request, sortedBy: ["number"]).compactMap { object in
            object.bytes("body").map { ($0, object.number("attempts")) }
        }
    }

    /// The number of attempts of a request without a response; nil for an unknown key.
    func attempts(ofRequest key: String) throws -> Int64? { try request(key)?.number("attempts") }

    func setAttempts(_ attempts: Int64, ofRequest key: String) throws { try request(key)?.set("attempts", attempts) }

    /// - Parameter key: nil for all requests.
    func removeRequests(_ key: String? = nil) throws {
        for object in try objects(.request) where key == nil || object.text("key") == key { context.delete(object) }
    }

    /// Marks requests that were in flight when an earlier process ended as in doubt: they may have arrived.
    func doubtRequests() throws { for object in try objects(.request) where object.number("attempts") == 0 { object.set("attempts", 1) } }

    private func request(_ key: String) throws -> NSManagedObject? {
        try objects(.request, where: NSPredicate(format: "key == %@", argumentArray: [key]), limit: 1).first
    }
}

extension RecordColumns {
    fileprivate func write(to object: NSManagedObject) {
        object.setValue(name, forKey: "name")
        object.set("key", key)
        object.setValue(entity, forKey: "entityName")
        object.setValue(uri, forKey: "uri")
        object.setValue(tag, forKey: "tag")
        object.setValue(base, forKey: "base")
        object.setValue(unapplied, forKey: "unapplied")
        object.setValue(digests, forKey: "digests")
        object.set("stage", Int64(stage))
        object.set("mark", mark)
        object.setValue(failure, forKey: "failure")
        object.set("generation", generation)
        object.setValue(creator, forKey: "creator")
        object.set("created", created)
        object.setValue(quarantine, forKey: "quarantine")
    }
}

extension LinkColumns {
    fileprivate func write(to object: NSManagedObject) {
        object.setValue(name, forKey: "name")
        object.setValue(entities, forKey: "entities")
        object.setValue(relationships, forKey: "relationships")
        object.setValue(first, forKey: "firstRecord")
        object.setValue(second, forKey: "secondRecord")
        object.setValue(tag, forKey: "tag")
        object.set("stage", Int64(stage))
        object.set("mark", mark)
        object.setValue(failure, forKey: "failure")
        object.set("generation", generation)
    }
}

extension DeferredColumns {
    fileprivate func write(to object: NSManagedObject) {
        object.setValue(source, forKey: "source")
        object.setValue(relationship, forKey: "relationship")
        object.setValue(destination, forKey: "destination")
    }
}

extension ConflictColumns {
    fileprivate func write(to object: NSManagedObject) {
        object.setValue(NSNumber(value: noted), forKey: "noted")
        object.setValue(entity, forKey: "entityName")
        object.setValue(record, forKey: "recordName")
        object.setValue(property, forKey: "property")
        object.setValue(losing, forKey: "losing")
        object.set("winner", Int64(winner))
        object.set("losingStamp", losingStamp)
    }
}
