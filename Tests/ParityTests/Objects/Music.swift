// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData

/// Playlists have ordered tracks; tracks have ordered moods and moods have ordered tracks, too.
final class Playlist: NSManagedObject {}
final class Track: NSManagedObject {}
final class Mood: NSManagedObject {}

enum Music {
    private struct Shared: @unchecked Sendable {
        // Unchecked: models are constant once they are used.
        let model: NSManagedObjectModel
    }

    private static let shared = Shared(model: makeModel())
    static var model: NSManagedObjectModel { shared.model }

    private static func makeModel() -> NSManagedObjectModel {
        let playlist = Library.entity("Playlist", Playlist.self)
        let track = Library.entity("Track", Track.self)
        let mood = Library.entity("Mood", Mood.self)
        for entity in [playlist, track, mood] { entity.properties = [Library.attribute("name", .stringAttributeType)] }
        Library.connect(playlist, "tracks", toMany: true, with: track, "playlist", toMany: false)
        Library.connect(track, "moods", toMany: true, with: mood, "tracks", toMany: true)
        for relationship in [
            playlist.relationshipsByName["tracks"], track.relationshipsByName["moods"], mood.relationshipsByName["tracks"],
        ] { relationship?.isOrdered = true }
        let model = NSManagedObjectModel()
        model.entities = [playlist, track, mood]
        return model
    }

    static func container(at url: URL? = nil) throws -> NSPersistentContainer {
        try loaded(NSPersistentContainer(name: "Music", managedObjectModel: model), at: url)
    }

    /// The container, with one store: in memory, or in a file.
    static func loaded(_ container: NSPersistentContainer, at url: URL?) throws -> NSPersistentContainer {
        container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: url ?? URL(fileURLWithPath: "/dev/null"))]
        var failure: (any Error)?
        container.loadPersistentStores { failure = $1 }
        if let failure { throw failure }
        return container
    }
}

extension NSManagedObject {
    /// Inserts an object of the class with a name.
    static func inserted(_ name: String, _ context: NSManagedObjectContext) -> Self {
        let new = NSEntityDescription.insertNewObject(forEntityName: String(describing: self), into: context)
        guard let object = new as? Self else { preconditionFailure("the entity \(self) has another class") }
        object.setValue(name, forKey: "name")
        return object
    }

    var nameValue: String? { value(forKey: "name") as? String }

    /// The names of a relationship's members, in their order.
    func memberNames(_ key: String) -> [String] {
        let members = value(forKey: key)
        let objects = (members as? NSOrderedSet)?.array ?? (members as? NSSet)?.allObjects ?? []
        return objects.compactMap { ($0 as? NSManagedObject)?.nameValue }
    }

    func orderedMembers(_ key: String) -> NSMutableOrderedSet { mutableOrderedSetValue(forKey: key) }
}
