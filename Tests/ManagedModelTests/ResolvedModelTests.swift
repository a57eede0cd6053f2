// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import Testing

@Suite struct ResolvedModelTests {
    /// Two unsorted hierarchies: `Media` > (`book` > `Atlas`, `Video`) and `Person`.
    static let model = Model(
        entities: [
            Entity(name: "Video", superentity: "Media"),
            Entity(
                name: "Person", attributes: [Attribute(name: "name", type: .string, defaultValue: .string("?"))],
                relationships: [Relationship(name: "media", destination: "Media", inverse: "owner", isToMany: true)]),
            Entity(
                name: "Atlas", superentity: "book", attributes: [Attribute(name: "area", type: .string)],
                relationships: [
                    Relationship(name: "next", destination: "Atlas", inverse: "previous"),
                    Relationship(name: "previous", destination: "Atlas", inverse: "next"),
                ]),
            Entity(
                name: "Media", isAbstract: true, attributes: [Attribute(name: "title", type: .string)],
                relationships: [
                    Relationship(name: "owner", destination: "Person", inverse: "media"),
                    Relationship(name: "related", destination: "Media", inverse: "related", isToMany: true),
                ]),
            Entity(name: "book", superentity: "Media", attributes: [Attribute(name: "pages", type: .integer32)]),
        ], configurations: ["People": ["Person"]])

    let resolved: ResolvedModel

    init() throws { resolved = try ResolvedModel(Self.model) }

    private func entity(_ name: String) throws -> ResolvedEntity { try #require(resolved.entity(named: name)) }

    @Test func entitiesAreNumberedByNameWithoutCaseEachHierarchyDepthFirst() throws {
        #expect(resolved.entities.map(\.name) == ["Media", "book", "Atlas", "Video", "Person"])
        #expect(resolved.entities.map(\.index) == [0, 1, 2, 3, 4])
        #expect(resolved.entities.map(\.superentity) == [nil, 0, 1, 0, nil])
        #expect(resolved.entities.map(\.root) == [0, 0, 0, 0, 4])
        #expect(resolved.entities.map(\.hierarchy) == [[0, 1, 2, 3], [1, 2], [2], [3], [4]])
    }

    @Test func subentitiesKeepInheritedSlots() throws {
        #expect(try entity("Media").slots.map(\.name) == ["owner", "title"])
        #expect(try entity("Atlas").slots.map(\.name) == ["owner", "title", "pages", "area", "next", "previous"])
        #expect(try entity("Atlas").toMany.map(\.name) == ["related"])
        #expect(try entity("Atlas").location(of: "title") == .slot(1))
        #expect(try entity("Atlas").location(of: "related") == .toMany(0))
        #expect(try entity("Video").location(of: "pages") == nil)
        #expect(try entity("Person").propertyNames == ["media", "name"])
        #expect(try entity("Person").defaultValues == [.string("?")])
    }

    @Test func inversesAreFoundOnTheirEntities() throws {
        let owner = try #require(try entity("Video").relationship(at: .slot(0)))
        #expect(owner.shape == .manyToOne)
        #expect(owner.destination == 4)
        #expect(owner.declaringEntity == 0)
        #expect(owner.inverse == .toMany(0))
        #expect(owner.inverseDeclaringEntity == 4)
        let media = try #require(try entity("Person").toMany.first)
        #expect(media.shape == .oneToMany)
        #expect(media.inverse == .slot(0))
        #expect(media.inverseDeclaringEntity == 0)
        #expect(try entity("Media").toMany.map(\.shape) == [.manyToMany])
        #expect(try entity("Atlas").relationship(at: .slot(4))?.shape == .oneToOne)
    }

    @Test func configurationsNameTheirEntities() {
        #expect(resolved.entities(inConfiguration: nil)?.count == 5)
        #expect(resolved.entities(inConfiguration: "People")?.map(\.name) == ["Person"])
        #expect(resolved.entities(inConfiguration: "Nobody") == nil)
    }

    @Test func allProblemsOfAModelAreReportedTogether() throws {
        let broken = Model(entities: [
            Entity(
                name: "A",
                attributes: [Attribute(name: "x", type: .string), Attribute(name: "x", type: .date)],
                relationships: [
                    Relationship(name: "b", destination: "Gone"),
                    Relationship(name: "c", destination: "A", isOrdered: true),
                ])
        ])
        let error = #expect(throws: ModelError.self) { try ResolvedModel(broken) }
        #expect(
            error?.problems.map(\.description) == [
                "A.x is declared twice (also in A)", "A.b has an unknown destination entity 'Gone'",
                "A.c is ordered but not to-many",
            ])
    }
}
