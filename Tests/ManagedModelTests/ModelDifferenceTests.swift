// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import Testing

@Suite struct ModelDifferenceTests {
    private static let post = Entity(
        name: "Post", attributes: [Attribute(name: "title", type: .string), Attribute(name: "rank", type: .integer16)],
        relationships: [Relationship(name: "tags", destination: "Tag", inverse: "post", isToMany: true)])
    private static let tag = Entity(
        name: "Tag", attributes: [Attribute(name: "name", type: .string)],
        relationships: [Relationship(name: "post", destination: "Post", inverse: "tags")])
    private static let model = Model(entities: [post, tag])

    /// The changes as text, with `!` for those that cannot be inferred and `~` for those that a synced store does not
    /// allow.
    private func changes(_ edit: (inout Model) -> Void) -> [String] {
        var new = Self.model
        edit(&new)
        return ModelDifference(from: Self.model, to: new).changes.map {
            "\($0.subject) \($0.summary)" + ($0.obstacle == nil ? "" : " !") + ($0.isAllowedWhenSynced ? "" : " ~")
        }
    }

    @Test func storeIndependentChangesAreIgnored() {
        #expect(changes { _ in } == [])
        #expect(
            changes {
                $0.entities[0].className = "PostMO"
                $0.entities[0].attributes[0].defaultValue = .string("x")
                $0.entities[0].attributes[0].maximum = 5
                $0.entities[0].relationships[0].deleteRule = .cascade
                $0.entities.reverse()
            } == [])
    }

    @Test func additionsAreInferredAndAllowed() {
        #expect(
            changes {
                $0.entities[0].attributes.append(Attribute(name: "note", type: .string))
                $0.entities[0].attributes.append(Attribute(name: "size", type: .integer16, isOptional: false, defaultValue: .int(0)))
                $0.entities.append(Entity(name: "Zebra"))
            } == ["Post.note is new", "Post.size is new", "Zebra is new"])
        #expect(
            changes { $0.entities[0].attributes.append(Attribute(name: "size", type: .integer16, isOptional: false)) }
                == ["Post.size is new ! ~"])
    }

    /// The version hashes of Apple's framework are the same with and without a transformer's name.
    @Test func anotherTransformerNeedsNoMigration() {
        var color = Attribute(name: "color", type: .transformable)
        let old = Model(entities: [Entity(name: "Post", attributes: [color])])
        color.valueTransformerName = "NSSecureUnarchiveFromData"
        let new = Model(entities: [Entity(name: "Post", attributes: [color, Attribute(name: "note", type: .string)])])
        for difference in [ModelDifference(from: old, to: new), ModelDifference(from: new, to: old)] {
            #expect(difference.isInferable)
            #expect(difference.obstacles.isEmpty)
        }
        #expect(ModelDifference(from: old, to: new).isAllowedWhenSynced)
    }

    @Test func renamesFollowTheIdentifier() {
        #expect(
            changes {
                $0.entities[0].attributes[0].name = "headline"
                $0.entities[0].attributes[0].renamingIdentifier = "title"
                $0.entities[1].name = "Label"
                $0.entities[1].renamingIdentifier = "Tag"
                $0.entities[0].relationships[0].destination = "Label"
            } == ["Label was renamed from 'Tag'", "Post.headline was renamed from 'title'"])
        #expect(changes { $0.entities[0].attributes[0].name = "headline" } == ["Post.headline is new", "Post.title was removed ~"])
    }

    @Test func namesMayBeExchanged() {
        #expect(
            changes {
                $0.entities[0].attributes = [
                    Attribute(name: "title", type: .integer16), Attribute(name: "rank", type: .string),
                ]
                $0.entities[0].attributes[0].renamingIdentifier = "rank"
                $0.entities[0].attributes[1].renamingIdentifier = "title"
            } == ["Post.rank was renamed from 'title'", "Post.title was renamed from 'rank'"])
    }

    /// The name on the server is that of the first version, which the renaming identifier is.
    @Test func aSyncedStoreKeepsTheNamesOnTheServer() {
        var second = Self.model
        second.entities[0].attributes[0].name = "headline"
        second.entities[0].attributes[0].renamingIdentifier = "title"
        var third = second
        third.entities[0].attributes[0].name = "heading"
        third.entities[0].attributes[0].renamingIdentifier = "headline"
        #expect(!ModelDifference(from: second, to: third).isAllowedWhenSynced)
        #expect(
            ModelDifference(from: second, to: third).changes.map(\.summary) == [
                "is 'headline' on the server now, where it was 'title'", "was renamed from 'headline'",
            ])
        third.entities[0].attributes[0].userInfo["syncName"] = "title"
        #expect(ModelDifference(from: second, to: third).isAllowedWhenSynced)
        #expect(
            changes { $0.entities[1].renamingIdentifier = "Label" } == ["Tag is 'Label' on the server now, where it was 'Tag' ~"])
        #expect(
            changes { $0.entities[0].relationships[0].userInfo["syncName"] = "labels" } == [
                "Post.tags is 'labels' on the server now, where it was 'tags' ~"
            ])
    }

    @Test func aSyncedStoreAllowsRetiredProperties() {
        #expect(
            changes {
                $0.entities[0].attributes.removeFirst()
                $0.entities[0].relationships = []
                $0.entities[0].userInfo["syncRetired"] = "title, tags"
                $0.entities[1].relationships = []
            } == ["Post.tags was retired", "Post.title was retired", "Tag.post was removed ~"])
        var old = Self.model
        old.entities[0].attributes.append(Attribute(name: "code", type: .string, isOptional: false))
        var new = Self.model
        new.entities[0].userInfo["syncRetired"] = "code"
        #expect(ModelDifference(from: old, to: new).changes.map(\.summary) == ["was retired, and earlier versions require it"])
        #expect(!ModelDifference(from: old, to: new).isAllowedWhenSynced)
    }

    /// They have neither a column nor a field.
    @Test func transientAndDerivedAttributesComeAndGo() {
        var cache = Attribute(name: "cache", type: .undefined)
        cache.isTransient = true
        var folded = Attribute(name: "folded", type: .string)
        folded.derivationExpression = "lowercase:(title)"
        var old = Self.model
        old.entities[0].attributes += [cache, folded]
        let removal = ModelDifference(from: old, to: Self.model)
        #expect(removal.changes.map { "\($0.subject) \($0.summary)" } == ["Post.cache was removed", "Post.folded was removed"])
        #expect(removal.isAllowedWhenSynced)
        var new = old
        new.entities[0].attributes[2].type = .string
        let retyped = ModelDifference(from: old, to: new)
        #expect(retyped.changes.map(\.summary) == ["changed from undefined to string"])
        #expect(retyped.obstacles.isEmpty)
        #expect(retyped.isAllowedWhenSynced)
        new.entities[0].attributes[2].isTransient = false
        #expect(ModelDifference(from: old, to: new).obstacles.isEmpty)
    }

    /// The later attributes of a lens are new with it, and stay with it until the earlier ones are retired.
    @Test func aSyncedStoreKeepsItsLenses() {
        var lens = Self.model
        lens.entities[0].attributes.append(Attribute(name: "note", type: .string))
        lens.entities[0].userInfo["syncLens"] = "title -> note"
        #expect(ModelDifference(from: Self.model, to: lens).isAllowedWhenSynced)
        var without = Self.model
        without.entities[0].attributes.append(Attribute(name: "note", type: .string))
        #expect(
            ModelDifference(from: without, to: lens).changes.map(\.summary) == [
                "has a lens 'title -> note', whose note earlier versions have"
            ])
        #expect(!ModelDifference(from: without, to: lens).isAllowedWhenSynced)
        #expect(ModelDifference(from: lens, to: without).changes.map(\.summary) == ["has no lens 'title -> note' any more"])
        #expect(!ModelDifference(from: lens, to: without).isAllowedWhenSynced)
        without.entities[0].attributes.removeFirst()
        without.entities[0].userInfo["syncRetired"] = "title"
        #expect(ModelDifference(from: lens, to: without).isAllowedWhenSynced)
    }

    /// A version that translates in another way would seem to be an earlier one.
    @Test func aSyncedStoreKeepsTheTranslationOfALens() {
        func model(_ lens: String) -> Model {
            var model = Self.model
            model.entities[0].attributes += ["note", "first", "last"].map { Attribute(name: $0, type: .string) }
            model.entities[0].userInfo["syncLens"] = lens
            return model
        }
        func summaries(_ old: String, _ new: String) -> [String] {
            let difference = ModelDifference(from: model(old), to: model(new))
            #expect(difference.isAllowedWhenSynced == difference.changes.isEmpty)
            return difference.changes.map(\.summary)
        }
        #expect(
            summaries("title -> first last", "title -> first last by ','") == [
                "translates 'title -> first last' in another way than 'title -> first last' before"
            ])
        #expect(
            summaries("title -> first", "note -> first") == ["translates 'note -> first' in another way than 'title -> first' before"])
        // Declarations have no order, and a conversion no separator.
        #expect(summaries("title -> first; note -> last", "note -> last; title -> first by ','").isEmpty)
    }

    @Test func aRenameKeepsALens() {
        var old = Self.model
        old.entities[0].attributes.append(Attribute(name: "note", type: .string))
        old.entities[0].userInfo["syncLens"] = "title -> note"
        var new = old
        new.entities[0].attributes[0].name = "headline"
        new.entities[0].attributes[0].renamingIdentifier = "title"
        new.entities[0].attributes[2].name = "remark"
        new.entities[0].attributes[2].renamingIdentifier = "note"
        new.entities[0].userInfo["syncLens"] = "headline -> remark"
        #expect(ModelDifference(from: old, to: new).isAllowedWhenSynced)
    }

    /// The attributes of the lens are the parent's, which are renamed.
    @Test func aLensOfInheritedAttributesIsComparedByTheirNamesOnTheServer() {
        var base = Entity(name: "Base", attributes: ["a", "b"].map { Attribute(name: $0, type: .string) })
        var heir = Entity(name: "Heir", superentity: "Base")
        let first = Model(entities: [base, heir])
        heir.userInfo["syncLens"] = "a -> b"
        let second = Model(entities: [base, heir])
        #expect(ModelDifference(from: first, to: second).changes.map(\.summary) == ["has a lens 'a -> b', whose b earlier versions have"])
        base.attributes[0].name = "c"
        base.attributes[0].renamingIdentifier = "a"
        heir.userInfo["syncLens"] = "c -> b"
        #expect(ModelDifference(from: second, to: Model(entities: [base, heir])).isAllowedWhenSynced)
        // Other objects of the parent were written without it.
        heir.userInfo = [:]
        base.userInfo["syncLens"] = "c -> b"
        #expect(
            ModelDifference(from: second, to: Model(entities: [base, heir])).changes.filter { !$0.isAllowedWhenSynced }.map(\.summary)
                == ["has a lens 'c -> b', whose b earlier versions have"])
    }

    @Test func aSyncedStoreAllowsTypesOfTheSameField() {
        #expect(changes { $0.entities[0].attributes[1].type = .integer64 } == ["Post.rank changed from integer16 to integer64"])
        #expect(changes { $0.entities[0].attributes[1].type = .double } == ["Post.rank changed from integer16 to double ! ~"])
    }

    @Test func aChainOfRenamesLeadsToTheFirstName() {
        var second = Self.model
        second.entities[0].attributes[0].name = "headline"
        second.entities[0].attributes[0].renamingIdentifier = "title"
        var third = Self.model
        third.entities[0].attributes[0].name = "heading"
        third.entities[0].attributes[0].renamingIdentifier = "title"
        #expect(ModelDifference(from: second, to: third).changes.map(\.summary) == ["was renamed from 'headline'"])
        #expect(ModelDifference(from: Self.model, to: third).changes.map(\.summary) == ["was renamed from 'title'"])
    }

    /// The second version has a new attribute with the first name of a renamed one, and an entity likewise.
    @Test func aPartWithTheFirstNameOfAnotherOneIsNotThatOne() {
        var second = Self.model
        second.entities[0].attributes[0].name = "topic"
        second.entities[0].attributes[0].renamingIdentifier = "title"
        second.entities[0].attributes.insert(Attribute(name: "title", type: .integer16), at: 0)
        second.entities[1].name = "Label"
        second.entities[1].renamingIdentifier = "Tag"
        second.entities[0].relationships[0].destination = "Label"
        second.entities.insert(Entity(name: "Tag", attributes: [Attribute(name: "count", type: .integer16)]), at: 0)
        #expect(
            ModelDifference(from: Self.model, to: second).changes.map { "\($0.subject) \($0.summary)" }
                == ["Label was renamed from 'Tag'", "Post.title is new", "Post.topic was renamed from 'title'", "Tag is new"])
        #expect(ModelDifference(from: second, to: second).changes.isEmpty)
        var third = second
        third.entities[1].attributes[1].name = "subject"
        third.entities[2].name = "Mark"
        third.entities[1].relationships[0].destination = "Mark"
        #expect(
            ModelDifference(from: second, to: third).changes.map { "\($0.subject) \($0.summary)" }
                == ["Mark was renamed from 'Label'", "Post.subject was renamed from 'topic'"])
    }

    /// A part may have its own name as its identifier.
    @Test func anIdentifierThatIsTheNameIsNoRename() {
        var second = Self.model
        second.entities[0].attributes[0].name = "topic"
        second.entities[0].attributes[0].renamingIdentifier = "title"
        var title = Attribute(name: "title", type: .integer16)
        title.renamingIdentifier = "title"
        second.entities[0].attributes.insert(title, at: 0)
        var third = second
        third.entities[0].attributes[1].name = "subject"
        #expect(
            ModelDifference(from: second, to: third).changes.map { "\($0.subject) \($0.summary)" }
                == ["Post.subject was renamed from 'topic'"])
    }

    @Test func unInferableChangesNameTheObstacle() {
        #expect(
            changes {
                $0.entities[0].attributes[1].type = .string
                $0.entities[0].attributes[0].isOptional = false
                $0.entities[0].relationships[0].isToMany = false
                $0.entities[1].isAbstract = true
                $0.entities[1].relationships[0].destination = "Tag"
            } == [
                "Post.rank changed from integer16 to string ! ~", "Post.tags is to-one now ! ~", "Post.title is required now ! ~",
                "Tag became abstract ! ~", "Tag.post leads to 'Tag', not to 'Post' ! ~",
            ])
    }

    @Test func relationshipsMayWiden() {
        #expect(
            changes {
                $0.entities[1].relationships[0].isToMany = true
                $0.entities[0].relationships[0].isOrdered = true
            } == ["Post.tags is ordered now ~", "Tag.post is to-many now ~"])
    }

    @Test func propertiesMoveUpAndDownAHierarchy() {
        let base = Entity(name: "Base", attributes: [Attribute(name: "a", type: .string)])
        let heir = Entity(name: "Heir", superentity: "Base", attributes: [Attribute(name: "b", type: .string)])
        var (up, down) = ((base, heir), (base, heir))
        up.0.attributes += up.1.attributes
        up.1.attributes = []
        down.1.attributes += down.0.attributes
        down.0.attributes = []
        let before = Model(entities: [base, heir])
        #expect(ModelDifference(from: before, to: Model(entities: [up.0, up.1])).changes.map(\.summary) == ["is new"])
        #expect(ModelDifference(from: before, to: Model(entities: [down.0, down.1])).changes.isEmpty)
    }

    @Test func hierarchiesThatWereApartAreNotMerged() {
        func pair(_ name: String) -> [Entity] { [Entity(name: name), Entity(name: name + "Heir", superentity: name)] }
        let before = Model(entities: pair("A") + pair("B"))
        var after = before
        after.entities.append(Entity(name: "Root"))
        after.entities[0].superentity = "Root"
        after.entities[2].superentity = "Root"
        let difference = ModelDifference(from: before, to: after)
        #expect(!difference.isInferable)
        #expect(difference.changes.first { $0.obstacle != nil }?.summary == "joins the hierarchies of 'A' and 'B'")
        after.entities[2].superentity = nil
        #expect(ModelDifference(from: before, to: after).isInferable)
    }
}
