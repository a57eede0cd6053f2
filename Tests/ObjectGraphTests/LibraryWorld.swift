// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ObjectGraph

struct SeededRandom: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// Contexts over one library, with random operations from a seed.
struct LibraryWorld {
    let container: NSPersistentContainer
    let contexts: [NSManagedObjectContext]
    /// Objects that the app retains, deleted ones included.
    var held: [[NSManagedObject]]
    /// Whether deleted objects are changed, too.
    var usesGoneObjects = true
    var random: SeededRandom
    var trace: [String] = []
    private var names = 0
    private static let names = ["Book": "title", "Cover": "color"]
    private static let entities = ["Book", "Cover", "Genre", "Shelf"]

    /// - Parameter parents: For each context the number of its parent, an earlier one; nil for one over the store.
    init(_ container: NSPersistentContainer, seed: UInt64, parents: [Int?] = [nil, nil]) {
        self.container = container
        random = SeededRandom(state: seed)
        var contexts: [NSManagedObjectContext] = []
        for parent in parents {
            if let parent {
                let child = NSManagedObjectContext(.privateQueue)
                child.parent = contexts[parent]
                contexts.append(child)
            } else {
                contexts.append(container.newBackgroundContext())
            }
        }
        self.contexts = contexts
        held = contexts.map { _ in [] }
        let policies: [NSMergePolicy] = [.error, .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump]
        for context in contexts {
            context.automaticallyMergesChangesFromParent = true
            context.mergePolicy = policies.randomElement(using: &random) ?? .error
        }
    }

    mutating func step() throws {
        let side = contexts.indices.randomElement(using: &random) ?? 0
        let context = contexts[side]
        try context.performAndWait { try act(side, context) }
        // Random reads: faults fire, relationships load.
        for side in contexts.indices where Int.random(in: 0..<3, using: &random) == 0 {
            contexts[side].performAndWait { for object in held[side] { _ = line(of: object) } }
        }
        settle()
    }

    /// Other contexts' merges were enqueued by a save; they are done when the queues are idle. A parent's merge is passed
    /// on to its children, which follow it.
    func settle() { for context in contexts { context.performAndWait {} } }

    /// Saves every context, children first.
    mutating func saveAll() throws {
        for (side, context) in contexts.enumerated().reversed() {
            trace.append("\(side): save with all")
            try context.performAndWait { try context.save() }
            settle()
        }
    }

    /// Objects that a parent discards are deleted for children that saved them there: the children are reset.
    private mutating func resetChildren(of side: Int) {
        for (child, context) in contexts.enumerated() where context.parent === contexts[side] {
            held[child] = []
            context.performAndWait { context.reset() }
            resetChildren(of: child)
        }
    }

    private func hasChildren(_ side: Int) -> Bool { contexts.contains { $0.parent === contexts[side] } }

    private mutating func pick(_ side: Int, _ entity: String? = nil) -> NSManagedObject? {
        held[side].filter { object in
            (entity == nil || object.entity.name == entity)
                && (usesGoneObjects || (!object.isDeleted && object.managedObjectContext != nil))
        }.randomElement(using: &random)
    }

    /// Inserts, changes, relates or deletes.
    mutating func change(_ side: Int, _ context: NSManagedObjectContext) throws { try act(side, context, changesOnly: true) }

    private mutating func act(_ side: Int, _ context: NSManagedObjectContext, changesOnly: Bool = false) throws {
        func note(_ what: String) { trace.append("\(side): \(what)") }
        func label(_ object: NSManagedObject?) -> String {
            object.map { "\($0.entity.name ?? "")\($0.objectID.uriRepresentation().lastPathComponent)" } ?? "nil"
        }
        switch Int.random(in: 0..<(changesOnly ? 58 : 100), using: &random) {
        case 0..<15:
            let entity = ["Book", "Book", "Shelf", "Genre", "Cover"].randomElement(using: &random) ?? "Book"
            let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
            names += 1
            object.setValue("\(names)", forKey: Self.names[entity] ?? "name")
            held[side].append(object)
            note("insert \(label(object))")
        case 15..<25:
            guard let book = pick(side, "Book") else { return }
            names += 1
            note("title of \(label(book)) = \(names)")
            book.setValue("\(names)", forKey: "title")
        case 25..<38:
            guard let book = pick(side, "Book") else { return }
            let shelf = Bool.random(using: &random) ? pick(side, "Shelf") : nil
            note("\(label(book)).shelf = \(label(shelf))")
            book.setValue(shelf, forKey: "shelf")
        case 38..<43:
            guard let book = pick(side, "Book") else { return }
            let cover = Int.random(in: 0..<4, using: &random) > 0 ? pick(side, "Cover") : nil
            let fromCover = cover != nil && Bool.random(using: &random)
            note("\(label(book)).cover = \(label(cover))\(fromCover ? ", from the cover" : "")")
            if fromCover { cover?.setValue(book, forKey: "book") } else { book.setValue(cover, forKey: "cover") }
        case 43..<52:
            guard let book = pick(side, "Book"), let genre = pick(side, "Genre") else { return }
            let isAddition = Int.random(in: 0..<3, using: &random) > 0
            let fromBook = Bool.random(using: &random)
            note("\(isAddition ? "link" : "unlink") \(label(book)) \(label(genre)) from \(fromBook ? "book" : "genre")")
            let (owner, key, member) = fromBook ? (book, "genres", genre) : (genre, "books", book)
            if isAddition { owner.mutableSetValue(forKey: key).add(member) } else { owner.mutableSetValue(forKey: key).remove(member) }
        case 52..<58:
            guard let object = pick(side) else { return }
            note("delete \(label(object))")
            context.delete(object)
        case 58..<62:
            guard let object = held[side].randomElement(using: &random) else { return }
            let merges = Bool.random(using: &random) || hasChildren(side)
            note("refresh \(label(object)) merging \(merges)")
            context.refresh(object, mergeChanges: merges)
        case 62..<64:
            note("rollback")
            context.rollback()
            resetChildren(of: side)
        case 64..<66:
            note("reset")
            context.reset()
            held[side] = []
            resetChildren(of: side)
        case 66..<68:
            note("process, obtain IDs")
            context.processPendingChanges()
            try context.obtainPermanentIDs(for: Array(context.insertedObjects))
        case 68..<72:
            note("release half")
            held[side] = held[side].enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
        case 72..<84:
            note("fetch")
            for entity in Self.entities {
                for object in try context.fetch(NSFetchRequest<NSManagedObject>(entityName: entity)) where !held[side].contains(object) {
                    held[side].append(object)
                }
            }
        default:
            note("save")
            try context.save()
        }
    }

    /// - Returns: nil when a context has unsaved changes, or all contexts have converged.
    func differenceWhenQuiet() throws -> String? {
        guard contexts.allSatisfy({ context in context.performAndWait { !context.hasChanges } }) else { return nil }
        let fresh = container.newBackgroundContext()
        let dumps = try (contexts + [fresh]).map { context in try context.performAndWait { try dump(context) } }
        return Set(dumps).count == 1 && !dumps[0].contains("gone") ? nil : dumps.joined(separator: "\n---\n")
    }

    func dump(_ context: NSManagedObjectContext) throws -> String {
        try Self.entities.flatMap { entity in
            try context.fetch(NSFetchRequest<NSManagedObject>(entityName: entity)).map(line).sorted()
        }.joined(separator: "\n")
    }

    func line(of object: NSManagedObject) -> String {
        func names(_ key: String, _ name: String) -> String {
            ((object.value(forKey: key) as? NSSet)?.allObjects ?? [])
                .compactMap { ($0 as? NSManagedObject)?.value(forKey: name) as? String }.sorted().joined(separator: " ")
        }
        switch object.entity.name {
        case "Book":
            // A shelf without a name is a reference to a deleted row.
            let shelf = (object.value(forKey: "shelf") as? NSManagedObject).map { $0.value(forKey: "name") as? String ?? "gone" } ?? "-"
            let cover = (object.value(forKey: "cover") as? NSManagedObject).map { $0.value(forKey: "color") as? String ?? "gone" } ?? "-"
            return "book \(object.value(forKey: "title") as? String ?? "-") on \(shelf) in \(cover) genres \(names("genres", "name"))"
        case "Cover":
            let book = (object.value(forKey: "book") as? NSManagedObject).map { $0.value(forKey: "title") as? String ?? "gone" } ?? "-"
            return "cover \(object.value(forKey: "color") as? String ?? "-") of \(book)"
        case "Genre": return "genre \(object.value(forKey: "name") as? String ?? "-") books \(names("books", "title"))"
        default: return "shelf \(object.value(forKey: "name") as? String ?? "-") books \(names("books", "title"))"
        }
    }
}
