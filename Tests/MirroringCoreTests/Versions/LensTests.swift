// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import Testing
import ValueSimulation

/// Devices with an earlier version of an entity and devices with a later one, on the same records.
@Suite struct LensTests {
    private static let name = Attribute(name: "name", type: .string), title = Attribute(name: "title", type: .string)

    private static func mapping(_ attributes: [Attribute], lens: String? = nil, lenses: [Lens] = []) throws -> RecordMapping {
        var entity = Entity(name: "Thing", attributes: attributes)
        entity.userInfo["syncLens"] = lens
        return RecordMapping(model: try ResolvedModel(Model(entities: [entity])), lenses: lenses)
    }

    /// People had a name, and have two.
    private static func people(_ version: Int) throws -> RecordMapping {
        if version == 1 { return try mapping([name, title]) }
        let names = ["firstName", "lastName"].map { Attribute(name: $0, type: .string) }
        return try mapping([name, title] + names, lens: "name -> firstName lastName")
    }

    /// An amount was a text, and is a number.
    private static func amounts(_ version: Int) throws -> RecordMapping { try amounts(version, policy: nil) }

    private static func amounts(_ version: Int, policy: String?) throws -> RecordMapping {
        let amount = Attribute(name: "amount", type: .string)
        if version == 1 { return try mapping([amount, title]) }
        var count = Attribute(name: "count", type: .integer32)
        count.userInfo["syncPolicy"] = policy
        return try mapping([amount, title, count], lens: "amount -> count")
    }

    private static func pair(_ mapping: (Int) throws -> RecordMapping) throws -> (old: Replica, new: Replica) {
        (Replica("O", mapping: try mapping(1)), Replica("N", mapping: try mapping(2)))
    }

    private func value(_ property: String, _ replica: Replica) -> StoredValue? {
        replica.liveKeys.first.flatMap { replica.value(property, of: $0) }
    }

    private func names(_ replica: Replica) -> [StoredValue?] { ["firstName", "lastName"].map { value($0, replica) } }

    // MARK: Split

    @Test func aNameOfTheEarlierVersionIsSplit() throws {
        var server = ServerModel()
        var (old, new) = try Self.pair(Self.people)
        old.insertThing(["name": .string("Ann Lee")])
        old.sync(&server)
        new.sync(&server)
        #expect(names(new) == [.string("Ann"), .string("Lee")])
        // Nothing is sent for it.
        #expect(new.pendingRecords.isEmpty)
        #expect(server.records["O1"]?.fields.keys.sorted() == ["CD_entityName", "CD_name"])
    }

    @Test func anEditOfOneNameReachesTheEarlierVersion() throws {
        var server = ServerModel()
        var (old, new) = try Self.pair(Self.people)
        let key = old.insertThing(["name": .string("Ann Lee")])
        old.sync(&server)
        new.sync(&server)
        new.set("firstName", of: new.liveKeys[0], to: .string("Eva"))
        new.sync(&server)
        old.sync(&server)
        #expect(old.value("name", of: key) == .string("Eva Lee"))
        #expect(
            server.records["O1"]?.fields == [
                "CD_entityName": Field(.string("Thing")), "CD_name": Field(.string("Eva Lee")), "CD_firstName": Field(.string("Eva")),
                "CD_lastName": Field(.string("Lee")),
            ])
        // A repeated scan finds nothing to send.
        new.set("firstName", of: new.liveKeys[0], to: .string("Eva"))
        let before = server
        new.sync(&server)
        #expect(server.records == before.records)
    }

    /// A first name with a space cannot be split again: the later version keeps its form until the earlier one edits the name.
    @Test func aValueWithoutUniqueSplitSurvives() throws {
        var server = ServerModel()
        var (old, new) = try Self.pair(Self.people)
        var other = Replica("M", mapping: try Self.people(2))
        new.insertThing(["firstName": .string("Mary Ann"), "lastName": .string("Lee")])
        new.sync(&server)
        old.sync(&server)
        #expect(value("name", old) == .string("Mary Ann Lee"))
        old.set("title", of: old.liveKeys[0], to: .string("Dr"))
        old.sync(&server)
        for _ in 0..<2 {
            new.sync(&server)
            other.sync(&server)
        }
        for replica in [new, other] { #expect(names(replica) == [.string("Mary Ann"), .string("Lee")]) }
        old.set("name", of: old.liveKeys[0], to: .string("Eva Lee"))
        old.sync(&server)
        new.sync(&server)
        other.sync(&server)
        for replica in [new, other] { #expect(names(replica) == [.string("Eva"), .string("Lee")]) }
        old.set("name", of: old.liveKeys[0], to: .null)
        old.sync(&server)
        new.sync(&server)
        #expect(names(new) == [.null, .null])
    }

    /// An edit of something else sends neither form.
    @Test func anEditOfAnotherAttributeTouchesNeitherForm() throws {
        var server = ServerModel()
        var (old, new) = try Self.pair(Self.people)
        old.insertThing(["name": .string(" Ann  Lee ")])
        old.sync(&server)
        new.sync(&server)
        new.set("title", of: new.liveKeys[0], to: .string("Dr"))
        new.sync(&server)
        #expect(server.records["O1"]?.fields.keys.sorted() == ["CD_entityName", "CD_name", "CD_title"])
        #expect(server.records["O1"]?.fields["CD_name"]?.value == .string(" Ann  Lee "))
    }

    @Test func concurrentEditsOfTheTwoVersionsMergeByLaterAttribute() throws {
        var server = ServerModel()
        var (old, new) = try Self.pair(Self.people)
        let key = old.insertThing(["name": .string("Ann Lee")])
        old.sync(&server)
        new.sync(&server)
        old.set("name", of: key, to: .string("Ann Kay"))
        new.set("firstName", of: new.liveKeys[0], to: .string("Eva"))
        old.sync(&server)
        new.sync(&server)
        old.sync(&server)
        #expect(names(new) == [.string("Eva"), .string("Kay")])
        #expect(old.value("name", of: key) == .string("Eva Kay"))
        #expect(new.conflicts.isEmpty)
    }

    @Test func anEditThatLosesIsLoggedByItsLaterAttribute() throws {
        var server = ServerModel()
        var (old, new) = try Self.pair(Self.people)
        let key = old.insertThing(["name": .string("Ann Lee")])
        old.sync(&server)
        new.sync(&server)
        old.set("name", of: key, to: .string("Ida Kay"))
        new.set("firstName", of: new.liveKeys[0], to: .string("Eva"))
        old.sync(&server)
        new.sync(&server)
        old.sync(&server)
        #expect(names(new) == [.string("Eva"), .string("Kay")])
        #expect(new.conflicts.map(\.property) == ["firstName"])
        #expect(new.conflicts.map(\.losing) == [.string("Ida")])
        #expect(old.value("name", of: key) == .string("Eva Kay"))
    }

    @Test func twoLaterDevicesMergeBothNames() throws {
        var server = ServerModel()
        var (old, new) = try Self.pair(Self.people)
        var other = Replica("M", mapping: try Self.people(2))
        let key = old.insertThing(["name": .string("Ann Lee")])
        old.sync(&server)
        new.sync(&server)
        other.sync(&server)
        new.set("firstName", of: new.liveKeys[0], to: .string("Eva"))
        other.set("lastName", of: other.liveKeys[0], to: .string("Kay"))
        new.sync(&server)
        other.sync(&server)
        new.sync(&server)
        old.sync(&server)
        for replica in [new, other] { #expect(names(replica) == [.string("Eva"), .string("Kay")]) }
        #expect(old.value("name", of: key) == .string("Eva Kay"))
        #expect(new.conflicts.isEmpty)
        #expect(other.conflicts.isEmpty)
    }

    @Test func aDeletionLogsTheLaterAttributesOnly() throws {
        var server = ServerModel()
        var (old, new) = try Self.pair(Self.people)
        let key = old.insertThing(["name": .string("Ann Lee")])
        old.sync(&server)
        new.sync(&server)
        new.set("firstName", of: new.liveKeys[0], to: .string("Eva"))
        old.delete(key)
        old.sync(&server)
        new.sync(&server)
        #expect(new.liveKeys.isEmpty)
        #expect(new.conflicts.map(\.property) == ["firstName"])
    }

    // MARK: Policies

    /// Each version counts on from 5.
    @Test func aLaterAttributeIsMergedByItsPolicy() throws {
        var server = ServerModel()
        var (old, new) = try Self.pair { try Self.amounts($0, policy: "counter") }
        let key = old.insertThing(["amount": .string("5")])
        old.sync(&server)
        new.sync(&server)
        old.set("amount", of: key, to: .string("7"))
        new.set("count", of: new.liveKeys[0], to: .int(8))
        old.sync(&server)
        new.sync(&server)
        old.sync(&server)
        #expect(value("count", new) == .int(10))
        #expect(old.value("amount", of: key) == .string("10"))
        #expect(new.conflicts.isEmpty)
    }

    /// The other part of the name follows the usual policy.
    @Test func aPolicyOfOnePartConcernsThatPart() throws {
        var server = ServerModel()
        var (old, new) = try Self.pair { version in
            if version == 1 { return try Self.people(1) }
            var names = ["firstName", "lastName"].map { Attribute(name: $0, type: .string) }
            names[0].userInfo["syncPolicy"] = "earliest"
            return try Self.mapping([Self.name, Self.title] + names, lens: "name -> firstName lastName")
        }
        let key = old.insertThing(["name": .string("Ann Lee")])
        old.sync(&server)
        new.sync(&server)
        old.set("name", of: key, to: .string("Ida Kay"))
        new.set("firstName", of: new.liveKeys[0], to: .string("Eva"))
        new.set("lastName", of: new.liveKeys[0], to: .string("Ray"))
        old.sync(&server)
        new.sync(&server)
        old.sync(&server)
        #expect(names(new) == [.string("Ida"), .string("Ray")])
        #expect(old.value("name", of: key) == .string("Ida Ray"))
        #expect(Set(new.conflicts.map(\.losing)) == [.string("Eva"), .string("Kay")])
    }

    // MARK: Join and conversion

    @Test func partsAreJoined() throws {
        func mapping(_ version: Int) throws -> RecordMapping {
            let parts = ["street", "city"].map { Attribute(name: $0, type: .string) }
            if version == 1 { return try Self.mapping(parts) }
            return try Self.mapping(parts + [Attribute(name: "address", type: .string)], lens: "street city -> address by ', '")
        }
        var server = ServerModel()
        var (old, new) = try Self.pair(mapping)
        let key = old.insertThing(["street": .string("Rue 1"), "city": .string("Lyon")])
        old.sync(&server)
        new.sync(&server)
        #expect(value("address", new) == .string("Rue 1, Lyon"))
        new.set("address", of: new.liveKeys[0], to: .string("Rue 2, Paris, France"))
        new.sync(&server)
        old.sync(&server)
        #expect(old.value("street", of: key) == .string("Rue 2"))
        #expect(old.value("city", of: key) == .string("Paris, France"))
        old.set("street", of: key, to: .null)
        old.sync(&server)
        new.sync(&server)
        #expect(value("address", new) == .string("Paris, France"))
    }

    @Test func aConvertedValueFollowsBothVersions() throws {
        var server = ServerModel()
        var (old, new) = try Self.pair { try Self.amounts($0) }
        let key = old.insertThing(["amount": .string("5")])
        old.sync(&server)
        new.sync(&server)
        #expect(value("count", new) == .int(5))
        new.set("count", of: new.liveKeys[0], to: .int(6))
        new.sync(&server)
        old.sync(&server)
        #expect(old.value("amount", of: key) == .string("6"))
        #expect(server.records["O1"]?.fields["CD_count"]?.value == .int64(6))
    }

    /// The later version shows its last value, and the earlier one keeps the text until a user edits the number.
    @Test func aValueThatDoesNotConvertIsKept() throws {
        var server = ServerModel()
        var (old, new) = try Self.pair { try Self.amounts($0) }
        var late = Replica("M", mapping: try Self.amounts(2))
        let key = old.insertThing(["amount": .string("5")])
        old.sync(&server)
        new.sync(&server)
        new.set("count", of: new.liveKeys[0], to: .int(6))
        new.sync(&server)
        old.sync(&server)
        old.set("amount", of: key, to: .string("seven"))
        old.sync(&server)
        new.sync(&server)
        late.sync(&server)
        for replica in [new, late] {
            #expect(value("count", replica) == .int(6))
            #expect(value("amount", replica) == .string("seven"))
        }
        new.set("title", of: new.liveKeys[0], to: .string("edited"))
        new.sync(&server)
        #expect(server.records["O1"]?.fields["CD_amount"]?.value == .string("seven"))
        late.sync(&server)
        late.set("count", of: late.liveKeys[0], to: .int(8))
        late.sync(&server)
        old.sync(&server)
        new.sync(&server)
        #expect(old.value("amount", of: key) == .string("8"))
        #expect(value("count", new) == .int(8))
    }

    /// The app's translation has no earlier form of some values: the earlier version shows none, and the later one keeps them.
    @Test func aValueWithoutEarlierFormIsKept() throws {
        let minutes = Attribute(name: "minutes", type: .integer32)
        let lens = Lens(
            entity: "Thing", earlier: ["minutes"], later: ["seconds"],
            upgrade: { if case .int(let number) = $0[0] { [.int(number * 60)] } else { [.null] } },
            downgrade: { if case .int(let number) = $0[0] { number % 60 == 0 ? [.int(number / 60)] : nil } else { [.null] } })
        func mapping(_ version: Int) throws -> RecordMapping {
            if version == 1 { return try Self.mapping([minutes]) }
            return try Self.mapping([minutes, Attribute(name: "seconds", type: .integer32)], lenses: [lens])
        }
        var server = ServerModel()
        var (old, new) = try Self.pair(mapping)
        let key = old.insertThing(["minutes": .int(2)])
        old.sync(&server)
        new.sync(&server)
        #expect(value("seconds", new) == .int(120))
        new.set("seconds", of: new.liveKeys[0], to: .int(121))
        new.sync(&server)
        old.sync(&server)
        #expect(old.value("minutes", of: key) == .null)
        new.set("seconds", of: new.liveKeys[0], to: .int(121))
        new.sync(&server)
        #expect(value("seconds", new) == .int(121))
        old.set("minutes", of: key, to: .int(3))
        old.sync(&server)
        new.sync(&server)
        #expect(value("seconds", new) == .int(180))
    }

    // MARK: Updates

    /// A row with an unsent edit, and one with a text that does not convert.
    @Test func rowsOfTheEarlierVersionAreFilled() throws {
        let mapping = try Self.amounts(2)
        let entity = try #require(mapping.entities[0])
        func filled(_ amount: StoredValue, count: StoredValue = .null, sent: String?) -> StoredValue? {
            var row = Row(key: RowKey(store: 1, entity: 0, primaryKey: 1), version: 1, values: entity.entity.defaultValues)
            for (name, value) in [("amount", amount), ("count", count)] {
                if case .slot(let slot)? = entity.entity.location(of: name) { row.values[slot] = value }
            }
            let base = sent.map { Ancestor(fields: ["CD_entityName": Field(.string("Thing")), "CD_amount": Field(.string($0))]) }
            guard let result = entity.filled(row, since: base, by: entity.lenses),
                case .slot(let slot)? = entity.entity.location(of: "count")
            else {
                return nil
            }
            #expect(result.changedSlots == [slot])
            return result.row.values[slot]
        }
        #expect(filled(.string("7"), sent: nil) == .int(7))
        #expect(filled(.string("7"), sent: "5") == .int(7))
        // The unsent text stays in the row, and the number is that of the server.
        #expect(filled(.string("seven"), sent: "5") == .int(5))
        #expect(filled(.string("seven"), sent: nil) == nil)
        #expect(filled(.string("7"), count: .int(1), sent: nil) == nil)
    }

    @Test func aLensChangesTheFingerprint() throws {
        #expect(
            try Self.people(2).fingerprint
                != Self.mapping([Self.name, Self.title] + ["firstName", "lastName"].map { Attribute(name: $0, type: .string) }).fingerprint)
        #expect(try FilledLenses(Self.people(2)).text == "Thing: name -> firstName lastName")
        #expect(try FilledLenses(Self.people(1)).isEmpty)
    }

    /// The store has the first form still, in its row: a later version with one more lens fills the attributes of that one alone.
    @Test func aValueThatWasClearedIsNotFilledAgain() throws {
        var server = ServerModel()
        let amount = Attribute(name: "amount", type: .string), count = Attribute(name: "count", type: .integer32)
        let names = ["firstName", "lastName"].map { Attribute(name: $0, type: .string) }
        var replica = Replica("N", mapping: try Self.mapping([Self.name, amount]))
        let key = replica.insertThing(["name": .string("Ann Lee"), "amount": .string("5")])
        replica.sync(&server)
        replica.upgrade(to: try Self.mapping([Self.name, amount] + names, lens: "name -> firstName lastName"))
        #expect(self.names(replica) == [.string("Ann"), .string("Lee")])
        for name in ["firstName", "lastName"] { replica.set(name, of: key, to: .null) }
        replica.sync(&server)
        replica.upgrade(
            to: try Self.mapping([Self.name, amount, count] + names, lens: "name -> firstName lastName; amount -> count"))
        #expect(self.names(replica) == [.null, .null])
        #expect(replica.value("count", of: key) == .int(5))
    }

    /// Names on the server list a lens.
    @Test func aRenameIsNoNewLens() throws {
        var entity = Entity(name: "Person", attributes: [Self.name, Self.title])
        entity.renamingIdentifier = "Thing"
        for (name, first) in [("fullName", "name"), ("given", "firstName"), ("family", "lastName")] {
            var attribute = Attribute(name: name, type: .string)
            attribute.renamingIdentifier = first
            entity.attributes.append(attribute)
        }
        entity.attributes.removeFirst()
        entity.userInfo["syncLens"] = "fullName -> given family"
        let mapping = RecordMapping(model: try ResolvedModel(Model(entities: [entity])))
        #expect(FilledLenses(mapping).text == "Thing: name -> firstName lastName")
        #expect(FilledLenses(text: "Thing: name -> firstName lastName").missing(from: mapping).isEmpty)
        #expect(FilledLenses(text: nil).missing(from: mapping).count == 1)
    }

    /// The child's objects had values before the parent had the lens.
    @Test func aLensThatMovesToTheParentIsNewForItsOtherObjects() throws {
        func mapping(_ owner: Int) throws -> RecordMapping {
            var entities = [
                Entity(name: "Base", attributes: ["name", "text"].map { Attribute(name: $0, type: .string) }),
                Entity(name: "Part", superentity: "Base"), Entity(name: "Piece", superentity: "Base"),
            ]
            entities[owner].userInfo["syncLens"] = "name -> text"
            return RecordMapping(model: try ResolvedModel(Model(entities: entities)))
        }
        let new = FilledLenses(try mapping(1)).missing(from: try mapping(0))
        #expect(new.map(\.entity.name) == ["Base", "Piece"])
    }

    // MARK: Declarations

    @Test func declarationsAreParsed() {
        let parsed = LensDeclaration.parse("name -> first last; street  city->address by ', ' ;\n a -> b")
        #expect(parsed?.map(\.earlier) == [["name"], ["street", "city"], ["a"]])
        #expect(parsed?.map(\.later) == [["first", "last"], ["address"], ["b"]])
        #expect(parsed?.map(\.separator) == [" ", ", ", " "])
        #expect(LensDeclaration.parse("")?.isEmpty == true)
        for wrong in ["name", "-> a", "a ->", "a b -> c d", "a -> b c by", "a -> b c by ''", "a -> b c by ', ' d", "a -> b, c"] {
            #expect(LensDeclaration.parse(wrong) == nil, "\(wrong)")
        }
    }

    @Test(arguments: [
        ("note -> count", "has a lens that its attributes do not fit: note -> count; only texts are split and joined"),
        ("name => a", "has a syncLens of another form than 'earlier -> later', with one attribute on one side"),
        ("name -> secret", "has a lens of secret, which is encrypted"),
        ("name -> code", "has a lens of code, which is part of a uniqueness constraint"),
        ("name -> a; a -> code2", "has a lens of a, which is part of another lens"),
    ]) func aLensOfUnfitAttributesIsAViolation(_ lens: String, _ what: String) throws {
        var secret = Attribute(name: "secret", type: .string)
        secret.allowsCloudEncryption = true
        let texts = ["name", "a", "code", "code2"].map { Attribute(name: $0, type: .string) }
        var entity = Entity(
            name: "Thing",
            attributes: texts + [secret, Attribute(name: "note", type: .binaryData), Attribute(name: "count", type: .integer16)])
        entity.uniquenessConstraints = [["code"]]
        entity.userInfo["syncLens"] = lens
        let violations = CloudModelRules.violations(of: try ResolvedModel(Model(entities: [entity])), allowing: .uniquenessConstraints)
        #expect(violations.map(\.what) == [what])
    }

    @Test func anInheritedAttributeIsPartOfOneLens() throws {
        var base = Entity(name: "Base", attributes: ["name", "a", "b"].map { Attribute(name: $0, type: .string) })
        base.userInfo["syncLens"] = "name -> a"
        var part = Entity(name: "Part", superentity: "Base")
        part.userInfo["syncLens"] = "name -> b"
        let violations = CloudModelRules.violations(of: try ResolvedModel(Model(entities: [base, part])))
        #expect(violations.map(\.description) == ["Part has a lens of name, which is part of another lens"])
    }

    @Test func aLensInCodeOfAnUnknownEntityIsAViolation() throws {
        let lens = Lens(entity: "Thin", earlier: ["name"], later: ["title"], upgrade: { $0 }, downgrade: { $0 })
        let violations = CloudModelRules.violations(of: try Self.mapping([Self.name, Self.title]).model, lenses: [lens])
        #expect(
            violations.map(\.description) == ["Thin has a lens in code, name -> title, and the model has no such entity"])
    }

    /// A text, a type, and the text that a value of the type becomes; nil for a text without such a value.
    private static let texts: [(text: String, type: AttributeType, back: String?)] = [
        ("7", .integer16, "7"), ("70000", .integer16, nil), (" 1.5 ", .double, "1.5"), ("yes", .boolean, "true"), ("maybe", .boolean, nil),
        ("12.50", .decimal, "12.5"), ("2001-01-01T00:00:01.500Z", .date, "2001-01-01T00:00:01.500Z"), ("tomorrow", .date, nil),
        ("01020304-0506-0708-090A-0B0C0D0E0F10", .uuid, "01020304-0506-0708-090A-0B0C0D0E0F10"),
        ("https://a.example/b", .uri, "https://a.example/b"), ("1e3", .double, "1000"), ("0x10", .integer64, nil),
        ("0x10", .double, nil), ("0x1p3", .float, nil), ("0x10", .decimal, nil), ("1e400", .decimal, nil), ("nan", .double, nil),
    ]

    @Test(arguments: texts.indices) func textsConvert(_ index: Int) throws {
        let (text, type, back) = Self.texts[index]
        let mapping = try Self.mapping([Attribute(name: "a", type: .string), Attribute(name: "b", type: type)], lens: "a -> b")
        var server = ServerModel()
        var old = Replica("O", mapping: try Self.mapping([Attribute(name: "a", type: .string)])), new = Replica("N", mapping: mapping)
        let key = old.insertThing(["a": .string(text)])
        old.sync(&server)
        new.sync(&server)
        let converted = try #require(value("b", new))
        #expect(converted.isNull == (back == nil))
        guard let back else { return }
        // Written by the later version, it returns to the earlier one in its usual form.
        let copy = new.insertThing(["b": converted])
        new.sync(&server)
        old.sync(&server)
        let name = try #require(new.name(of: copy))
        #expect(old.key(named: name).flatMap { old.value("a", of: $0) } == .string(back))
        #expect(old.value("a", of: key) == .string(text))
    }
}
