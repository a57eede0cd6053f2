// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import PredicateKit
import Testing

@Suite struct NonsenseTests {
    private struct Random: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state &* 0x2545_F491_4F6C_DD1D
        }
    }

    private static let pieces = [
        "a", "b.c", "SELF", "$x", "1", "-2", "0x1F", "9223372036854775808", "1e400", ".5", "'t'", "\"\\u0041\"", "\"", "'", "\\",
        "==", "!=", "<", ">=", "=<", "IN", "CONTAINS[cd]", "LIKE", "MATCHES", "'('", "BETWEEN", "BEGINSWITH[c]", "[cd]", "[", "]",
        "(", ")", "{", "}", ",", ".", "@count", ".@sum.n", "@", "#", "#in", "$", "%@", "%K", "%d", "%f", "%", "%%", "%lld",
        "AND", "OR", "NOT", "!", "&&", "||", "ANY", "ALL", "NONE", "SUBQUERY(", "FUNCTION(", "CAST(", "TERNARY(", "FETCH(",
        "now()", "sum:(", "length(", "add:to:(", "add:", "UNION", "MINUS", "INTERSECT", "ANYKEY", "TRUEPREDICATE", "nil", "YES",
        "+", "-", "*", "**", "/", "[FIRST]", "[LAST]", "[SIZE]", "[9999999999999999999]", "é", "日本", "\u{0}", "\n", "🙂",
    ]
    private static let arguments: [FormatArgument] = [
        .value(.int(.min)), .value(.string("k")), .value(.null), .value(.list([.int(1)])), .predicate(.value(true)),
        .expression(.selfObject), .value(.double(.nan)), .value(.double(.infinity)), .value(.decimal(.nan)), .value(.string("")),
    ]

    /// Formats of random pieces are parsed or rejected with a column; parsed ones can be printed, and evaluated or
    /// rejected. Nothing ends the process.
    @Test func noFormatAndNoPredicateEndsTheProcess() {
        var random = Random(state: 42)
        let object = PredicateValue(["a": 1, "b": ["c": "t"], "n": [3, -2], "k": "v"] as [String: Any])
        var (read, refused) = (0, 0)
        for _ in 0..<30_000 {
            let count = Int.random(in: 1...9, using: &random)
            let format = (0..<count).map { _ in Self.pieces[Int.random(in: 0..<Self.pieces.count, using: &random)] }
                .joined(separator: Bool.random(using: &random) ? " " : "")
            do throws(PredicateFailure) {
                let predicate = try PredicateKit.Predicate(format: format, Self.arguments.shuffled(using: &random))
                read += 1
                _ = predicate.formatDescription
                _ = try predicate.evaluate(on: object, variables: ["x": .int(.max)], now: { 0 })
            } catch {
                refused += 1
                if error.code == .format, error.column == nil { Issue.record("\(format): \(error)") }
            }
        }
        #expect(read > 100)
        #expect(refused > 10_000)
    }

    @Test func everyFunctionTakesEveryValue() throws {
        let values: [PredicateValue] = [
            .null, .bool(true), .int(.min), .int(.max), .int(-1), .int(0), .double(.nan), .double(.infinity), .double(-1e300),
            .double(0.5), .decimal(.nan), .decimal(Decimal.greatestFiniteMagnitude), .decimal(Decimal(string: "-0.5") ?? 0),
            .string(""), .string("x"), .date(.infinity), .date(0), .data(Data()), .list([]), .list([.null, .int(.max), .int(1)]),
            .list([.string("a"), .date(1)]), .object(PredicateObject(NSObject())),
        ]
        var made = 0
        for (name, count) in PredicateFunctions.names.sorted(by: { $0.key < $1.key }) {
            for first in values {
                for second in values {
                    let result = try PredicateFunctions.apply(name, Array([first, second].prefix(count)), now: { 0 })
                    if !result.isNull { made += 1 }
                }
            }
        }
        #expect(made > 1_000)
    }
}
