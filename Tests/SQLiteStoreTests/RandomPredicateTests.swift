// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import PredicateKit
import SQLiteStore
import Testing

private typealias Tree = PredicateKit.Predicate
private typealias Term = PredicateKit.Expression

/// Draws predicates from a grammar over authors, books and tags.
private struct PredicateGrammar {
    /// The properties of an object, by kind of value.
    struct Shape {
        var numbers: [[String]] = []
        var texts: [[String]] = []
        var dates: [[String]] = []
        var collections: [([String], String)] = []
    }

    static let shapes: [String: Shape] = [
        "Book": Shape(
            numbers: [["pages"], ["weight"], ["price"], ["isOpen"]], texts: [["title"], ["author", "name"]],
            dates: [["published"], ["author", "born"]],
            collections: [(["tags"], "Tag"), (["author", "books"], "Book"), (["tags", "books"], "Book")]),
        "Author": Shape(texts: [["name"]], dates: [["born"]], collections: [(["books"], "Book")]),
        "Tag": Shape(texts: [["label"]], collections: [(["books"], "Book")]),
    ]
    static let words = ["", "a", "A", "ab", "Äb", "a\u{308}b", "b*", "straße", "STRASSE", "zebra", "日本", "İx", "b", "e"]
    static let options: [Comparison.Options] = [
        [], [], [.caseInsensitive], [.diacriticInsensitive], [.caseInsensitive, .diacriticInsensitive], [.normalized],
    ]

    var random: SeededRandom
    private var variableCount = 0

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    mutating func pick<T>(_ items: [T]) -> T { items[Int.random(in: 0..<items.count, using: &random)] }
    mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }

    /// A predicate on an object of an entity: the root, or a variable's value.
    mutating func predicate(_ entity: String, _ base: Term, _ depth: Int) -> Tree {
        guard depth > 0 else { return comparison(entity, base, 0) }
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return .and((0..<Int.random(in: 2...3, using: &random)).map { _ in predicate(entity, base, depth - 1) })
        case 1: return .or((0..<Int.random(in: 2...3, using: &random)).map { _ in predicate(entity, base, depth - 1) })
        case 2: return .not(predicate(entity, base, depth - 1))
        default: return comparison(entity, base, depth)
        }
    }

    mutating func comparison(_ entity: String, _ base: Term, _ depth: Int) -> Tree {
        let relations: [Comparison.Operator] = [
            .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo, .equalTo, .notEqualTo,
        ]
        switch Int.random(in: 0..<14, using: &random) {
        case 12, 13: return mixed(entity, base, depth)
        case 0, 1: return test(number(entity, base, depth), pick(relations), number(entity, base, depth))
        case 2: return test(text(entity, base, depth), pick(relations), text(entity, base, depth), pick(Self.options))
        case 3:
            let search: [Comparison.Operator] = [.beginsWith, .endsWith, .contains, .like, .matches, .in]
            let kind = pick(search)
            let pattern: Term = kind == .matches ? .constant(.string(pick(["a.*", "[A-Z]+", ".?b", "s.*e"]))) : text(entity, base, 0)
            return test(text(entity, base, depth), kind, pattern, pick(Self.options))
        case 4: return test(date(entity, base), pick(relations), date(entity, base))
        case 5:
            let value = pick([number(entity, base, depth), text(entity, base, depth), date(entity, base)])
            return test(value, pick([.equalTo, .notEqualTo]), .constant(.null))
        case 6:
            let members = (0..<Int.random(in: 0...4, using: &random)).map { _ in chance(5) ? PredicateValue.null : .string(pick(Self.words))
            }
            return test(text(entity, base, depth), .in, .constant(.list(members)), pick(Self.options))
        case 7:
            let members = (0..<Int.random(in: 0...20, using: &random)).map { _ in numberValue() }
            return test(number(entity, base, depth), .in, .constant(.list(members)))
        case 8:
            return test(number(entity, base, depth), .between, .aggregate([number(entity, base, 0), number(entity, base, 0)]))
        case 9: return quantified(entity, base)
        case 10: return membership(entity, base)
        default: return test(count(entity, base, depth), pick(relations), .constant(.int(Int64.random(in: 0...3, using: &random))))
        }
    }

    /// Values of different kinds on the two sides.
    private mutating func mixed(_ entity: String, _ base: Term, _ depth: Int) -> Tree {
        let numeric = [PredicateValue.string("5"), .string("0"), .string("-1.5"), .string("NaN")]
        func value() -> Term {
            pick([
                number(entity, base, depth), text(entity, base, depth), date(entity, base), .constant(pick(numeric)),
                .constant(.data(Data([1]))),
            ])
        }
        switch Int.random(in: 0..<5, using: &random) {
        case 0: return test(value(), .in, .aggregate([value(), value()]))
        case 1: return test(value(), .between, .aggregate([value(), value()]))
        case 2: return test(value(), pick([.beginsWith, .contains, .like, .endsWith]), value(), pick(Self.options))
        default:
            let relations: [Comparison.Operator] = [
                .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo, .equalTo, .notEqualTo,
            ]
            return test(value(), pick(relations), value(), pick(Self.options))
        }
    }

    private func test(
        _ left: Term, _ operator: Comparison.Operator, _ right: Term, _ options: Comparison.Options = [],
        _ modifier: Comparison.Modifier = .direct
    ) -> Tree {
        .comparison(Comparison(left, `operator`, right, modifier: modifier, options: options))
    }

    private func key(_ base: Term, _ keys: [String]) -> Term { base.appending(keys) }

    private mutating func quantified(_ entity: String, _ base: Term) -> Tree {
        guard let (keys, member) = Self.shapes[entity].map({ pick($0.collections) }) else { return .value(true) }
        let modifier = pick([Comparison.Modifier.any, .all])
        let attribute = Self.shapes[member].map { pick($0.texts) } ?? []
        let left = key(base, keys + attribute)
        if chance(3) { return test(left, .equalTo, .constant(.null), [], modifier) }
        return test(left, pick([.equalTo, .lessThan, .contains, .beginsWith]), text(entity, base, 0), pick(Self.options), modifier)
    }

    private mutating func membership(_ entity: String, _ base: Term) -> Tree {
        guard let (keys, member) = Self.shapes[entity].map({ pick($0.collections) }) else { return .value(true) }
        let attribute = Self.shapes[member].map { pick($0.texts) } ?? []
        return test(text(entity, base, 0), .in, key(base, keys + attribute), pick(Self.options))
    }

    private mutating func count(_ entity: String, _ base: Term, _ depth: Int) -> Term {
        guard let (keys, member) = Self.shapes[entity].map({ pick($0.collections) }) else { return .constant(.int(0)) }
        guard depth > 0, chance(2) else { return key(base, keys + ["@count"]) }
        variableCount += 1
        let name = "v\(variableCount)"
        let condition = predicate(member, .variable(name), depth - 1)
        return .path(of: .subquery(key(base, keys), variable: name, condition), ["@count"])
    }

    private mutating func numberValue() -> PredicateValue {
        switch Int.random(in: 0..<6, using: &random) {
        case 0: .null
        case 1: .double(Double(Int.random(in: -4...8, using: &random)) / 2)
        case 2: .decimal(Decimal(Int.random(in: -4...8, using: &random)) / 2)
        case 3: .bool(Bool.random(using: &random))
        default: .int(Int64.random(in: -2...6, using: &random))
        }
    }

    private mutating func number(_ entity: String, _ base: Term, _ depth: Int) -> Term {
        let plain: [Term] =
            (Self.shapes[entity]?.numbers ?? []).map { key(base, $0) } + [.constant(numberValue()), .constant(numberValue())]
        guard depth > 0, chance(2) else { return pick(plain) }
        func two(_ name: String) -> Term { .function(name, [number(entity, base, depth - 1), number(entity, base, depth - 1)]) }
        switch Int.random(in: 0..<9, using: &random) {
        case 0: return two(pick(["add:to:", "from:subtract:", "multiply:by:", "divide:by:", "modulus:by:"]))
        case 1: return two(pick(["min:", "max:"]))
        case 2: return .function(pick(["abs:", "floor:", "ceiling:", "chs:", "trunc:"]), [number(entity, base, depth - 1)])
        case 3: return .function("length:", [text(entity, base, 0)])
        case 4: return count(entity, base, depth)
        case 5: return statistic(entity, base)
        case 6:
            if chance(4) { return .function("onesComplement:", [number(entity, base, depth - 1)]) }
            return two(pick(["bitwiseAnd:with:", "bitwiseOr:with:", "bitwiseXor:with:", "leftshift:by:", "rightshift:by:"]))
        case 7: return .conditional(predicate(entity, base, 0), number(entity, base, 0), number(entity, base, 0))
        default: return .function("from:subtract:", [date(entity, base), date(entity, base)])
        }
    }

    private mutating func statistic(_ entity: String, _ base: Term) -> Term {
        let collections = (Self.shapes[entity]?.collections ?? []).filter { $0.1 == "Book" }
        guard !collections.isEmpty else { return .constant(.int(1)) }
        let keys = pick(collections).0
        let attribute = pick(["pages", "weight", "price"])
        if chance(3) { return .function(pick(["median:", "sum:", "count:", "average:"]), [key(base, keys + [attribute])]) }
        return key(base, keys + [pick(["@sum", "@avg", "@min", "@max"]), attribute])
    }

    private mutating func text(_ entity: String, _ base: Term, _ depth: Int) -> Term {
        let plain: [Term] = (Self.shapes[entity]?.texts ?? []).map { key(base, $0) } + [.constant(.string(pick(Self.words)))]
        guard depth > 0, chance(3) else { return pick(plain) }
        switch Int.random(in: 0..<4, using: &random) {
        case 0, 1: return .function(pick(["uppercase:", "lowercase:", "canonical:"]), [text(entity, base, depth - 1)])
        case 2: return .conditional(predicate(entity, base, 0), text(entity, base, 0), text(entity, base, 0))
        default:
            let books = (Self.shapes[entity]?.collections ?? []).first { $0.1 == "Book" }
            return books.map { key(base, $0.0 + [pick(["@min", "@max"]), "title"]) } ?? .constant(.null)
        }
    }

    private mutating func date(_ entity: String, _ base: Term) -> Term {
        let plain: [Term] =
            (Self.shapes[entity]?.dates ?? []).map { key(base, $0) } + [.constant(.date(Double(Int.random(in: 0...3, using: &random))))]
        let date = pick(plain)
        return chance(4) ? .function("add:to:", [date, .constant(.int(1))]) : date
    }
}

@Suite struct RandomPredicateTests {
    /// More with TARN_PREDICATES=10000 in the environment.
    private static var count: Int { ProcessInfo.processInfo.environment["TARN_PREDICATES"].flatMap { Int($0) } ?? 300 }

    @Test func predicatesOfTheGrammarFindTheSameRowsInBothPlaces() throws {
        let worlds = try (11...13).map { try World(seed: $0) }
        var grammar = PredicateGrammar(seed: 2024)
        var telling = 0
        for index in 0..<Self.count {
            let predicate = grammar.predicate("Book", .selfObject, 3)
            let world = worlds[index % worlds.count]
            do {
                let (inStore, inMemory) = (try world.inStore(predicate, "Book"), try world.inMemory(predicate, "Book"))
                if inStore != inMemory { Issue.record("\(index): \(predicate.formatDescription): \(inStore) \(inMemory)") }
                if (1..<24).contains(inStore.count) { telling += 1 }
            } catch {
                Issue.record("\(index): \(predicate.formatDescription): \(error)")
            }
        }
        // Equal results of no rows or all rows would prove little.
        #expect(telling > Self.count / 3)
    }

    @Test func generatedPredicatesRoundTripThroughText() throws {
        var grammar = PredicateGrammar(seed: 77)
        for _ in 0..<Self.count {
            let predicate = grammar.predicate("Book", .selfObject, 3)
            let text = predicate.formatDescription
            let again = try Tree(format: text)
            if again.formatDescription != text { Issue.record("\(text) is read as \(again.formatDescription)") }
        }
    }
}
