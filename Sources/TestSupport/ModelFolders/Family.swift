// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CoreData
package import ManagedModel

/// A hierarchy of three levels, and an entity in relationships of each shape with itself.
package enum Family {
    package static var model: Model {
        Model(entities: [
            Entity(
                name: "Animal", isAbstract: true, attributes: [Attribute(name: "name", type: .string)],
                relationships: [
                    Relationship(name: "mother", destination: "Animal", inverse: "children"),
                    Relationship(name: "children", destination: "Animal", inverse: "mother", isToMany: true),
                    Relationship(name: "mate", destination: "Animal", inverse: "mate"),
                    Relationship(name: "friends", destination: "Animal", inverse: "friends", isToMany: true),
                    Relationship(name: "follows", destination: "Animal", inverse: "followers", isToMany: true),
                    Relationship(name: "followers", destination: "Animal", inverse: "follows", isToMany: true),
                ]),
            Entity(name: "Dog", superentity: "Animal", attributes: [Attribute(name: "tricks", type: .integer32)]),
            Entity(name: "Puppy", superentity: "Dog", attributes: [Attribute(name: "toy", type: .string)]),
        ])
    }

    /// Returns each animal as a line: mother, children, mate, friends, followed animals, followers.
    @Sendable package static func picture(_ context: NSManagedObjectContext) throws -> [String] {
        try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Animal")).map { animal in
            func names(_ key: String) -> [String] {
                ((animal.value(forKey: key) as? Set<NSManagedObject>) ?? []).compactMap { $0.value(forKey: "name") as? String }.sorted()
            }
            func name(_ key: String) -> String {
                (animal.value(forKey: key) as? NSManagedObject)?.value(forKey: "name") as? String ?? "–"
            }
            let own = "\(animal.entity.name ?? "?") \(animal.value(forKey: "name") as? String ?? "?")"
            return "\(own): \(name("mother")) \(names("children")) \(name("mate")) "
                + "\(names("friends")) \(names("follows")) \(names("followers"))"
        }.sorted()
    }
}
