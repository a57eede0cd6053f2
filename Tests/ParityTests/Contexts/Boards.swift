// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData

/// Boards of cards (one-to-many, cascade), badges of cards (one-to-one, a badge denies its card's deletion), labels of
/// cards (many-to-many).
final class Board: NSManagedObject {}
final class Label: NSManagedObject {}
final class Badge: NSManagedObject {}

/// Records its hooks' calls.
final class Card: NSManagedObject {
    var log: [String] = []
    var events: NSSnapshotEventType = []
    /// An additional action of a hook.
    var onWillSave: (() -> Void)?

    override func awakeFromInsert() {
        super.awakeFromInsert()
        log.append("awakeFromInsert")
    }
    override func awakeFromFetch() {
        super.awakeFromFetch()
        log.append("awakeFromFetch")
    }
    override func awake(fromSnapshotEvents flags: NSSnapshotEventType) {
        super.awake(fromSnapshotEvents: flags)
        events.formUnion(flags)
    }
    override func willSave() {
        super.willSave()
        onWillSave?()
    }
    override func prepareForDeletion() {
        super.prepareForDeletion()
        log.append("prepareForDeletion")
    }
}

enum Boards {
    private struct Shared: @unchecked Sendable {
        // Unchecked: models are constant once they are used.
        let model: NSManagedObjectModel
    }

    private static let shared = Shared(model: makeModel())

    private static func makeModel() -> NSManagedObjectModel {
        let board = Library.entity("Board", Board.self)
        let card = Library.entity("Card", Card.self)
        let label = Library.entity("Label", Label.self)
        let badge = Library.entity("Badge", Badge.self)
        board.properties = [Library.attribute("name", .stringAttributeType)]
        card.properties = [
            Library.attribute("title", .stringAttributeType, isOptional: false, default: "untitled"),
            Library.attribute("points", .integer32AttributeType, default: 1), Library.attribute("note", .stringAttributeType),
            Library.attribute("due", .dateAttributeType),
        ]
        label.properties = [Library.attribute("name", .stringAttributeType)]
        badge.properties = [Library.attribute("text", .stringAttributeType)]
        Library.connect(board, "cards", toMany: true, rule: .cascadeDeleteRule, with: card, "board", toMany: false)
        Library.connect(card, "labels", toMany: true, with: label, "cards", toMany: true)
        Library.connect(badge, "card", toMany: false, rule: .denyDeleteRule, with: card, "badge", toMany: false)
        let model = NSManagedObjectModel()
        model.entities = [board, card, label, badge]
        return model
    }

    /// A coordinator with one in-memory store.
    static func coordinator() throws -> NSPersistentStoreCoordinator {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: shared.model)
        try coordinator.addPersistentStore(
            ofType: NSSQLiteStoreType, configurationName: nil, at: URL(fileURLWithPath: "/dev/null"), options: nil)
        return coordinator
    }

    static func context(_ type: NSManagedObjectContextConcurrencyType, over coordinator: NSPersistentStoreCoordinator)
        -> NSManagedObjectContext
    {
        let context = NSManagedObjectContext(concurrencyType: type)
        context.persistentStoreCoordinator = coordinator
        context.undoManager = nil
        return context
    }

    /// A context on the main queue over its own store.
    @MainActor static func mainContext() throws -> NSManagedObjectContext { context(.mainQueueConcurrencyType, over: try coordinator()) }

    static func child(of parent: NSManagedObjectContext) -> NSManagedObjectContext {
        let child = NSManagedObjectContext(concurrencyType: parent.concurrencyType)
        child.parent = parent
        child.undoManager = nil
        return child
    }

    static func card(_ title: String, in context: NSManagedObjectContext) -> Card {
        let card = Card(context: context)
        card.setValue(title, forKey: "title")
        return card
    }
}

extension NSManagedObjectContext {
    /// Titles of all cards, in order.
    func titles() throws -> [String] {
        let request = NSFetchRequest<Card>(entityName: "Card")
        request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
        return try fetch(request).compactMap { $0.value(forKey: "title") as? String }
    }

    func count(_ entity: String) throws -> Int { try count(for: NSFetchRequest<NSManagedObject>(entityName: entity)) }

    /// This context's object for another context's.
    func own<T: NSManagedObject>(_ object: T) throws -> T {
        guard let own = try existingObject(with: object.objectID) as? T else { throw CocoaError(.validationMissingMandatoryProperty) }
        return own
    }
}

extension NSManagedObject {
    /// A to-one relationship.
    func one(_ key: String) -> NSManagedObject? { value(forKey: key) as? NSManagedObject }
    /// A to-many relationship.
    func many(_ key: String) -> Set<NSManagedObject> { value(forKey: key) as? Set<NSManagedObject> ?? [] }
    func text(_ key: String) -> String? { value(forKey: key) as? String }
}

/// Notifications of one name and sender, in order of posting.
final class Heard: @unchecked Sendable {
    // Unchecked: contexts post on their own queue, where the test reads.
    private(set) var notes: [Notification] = []
    private var token: (any NSObjectProtocol)?

    init(_ name: Notification.Name, from object: AnyObject?) {
        token = NotificationCenter.default.addObserver(forName: name, object: object, queue: nil) { [weak self] note in
            self?.notes.append(note)
        }
    }

    deinit { if let token { NotificationCenter.default.removeObserver(token) } }

    func take() -> [Notification] {
        defer { notes = [] }
        return notes
    }

    /// The objects under a key in all notifications.
    func objects(_ key: String) -> Set<NSManagedObject> {
        notes.reduce(into: []) { $0.formUnion($1.userInfo?[key] as? Set<NSManagedObject> ?? []) }
    }

    func ids(_ key: NSManagedObjectContext.NotificationKey) -> Set<NSManagedObjectID> {
        notes.reduce(into: []) { $0.formUnion($1.userInfo?[key.rawValue] as? Set<NSManagedObjectID> ?? []) }
    }
}
