// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import PredicateKit
import Testing

@Suite struct BitwiseTests {
    typealias Tree = PredicateKit.Predicate
    typealias Term = PredicateKit.Expression

    private func value(_ format: String, _ object: [String: Any] = [:]) throws -> PredicateValue {
        try Term(format: format).value(on: PredicateValue(object), now: { 0 })
    }

    @Test func bitwiseOperatorsAreParsedAndEvaluated() throws {
        let object: [String: Any] = ["flags": 6, "half": 5.75, "amount": Decimal(6)]
        #expect(try value("flags & 2", object) == .int(2))
        #expect(try value("flags | 1", object) == .int(7))
        #expect(try value("flags ^ 3", object) == .int(5))
        #expect(try value("flags << 2", object) == .int(24))
        #expect(try value("flags >> 1", object) == .int(3))
        #expect(try value("~flags", object) == .int(-7))
        #expect(try value("~~flags & -1", object) == .int(6))
        // Fractions are truncated, as `longLongValue` does.
        #expect(try value("half & 7", object) == .int(5))
        #expect(try value("amount ^ 1", object) == .int(7))
        #expect(try value("missing & 1", object) == .null)
        #expect(try value("'text' | 1", object) == .null)
        #expect(try value("1 << 64") == .int(0))
        #expect(try value("-1 >> 70") == .int(-1))
        #expect(try value("8 << -2") == .int(2))
    }

    /// The same precedence and grouping as C has, checked on values.
    @Test func bitwiseOperatorsBindAsInC() throws {
        #expect(try value("1 | 2 ^ 3 & 2") == .int(1 | (2 ^ (3 & 2))))
        #expect(try value("1 + 2 << 3 - 1") == .int(12))
        #expect(try value("2 * 3 & 4 + 1") == .int(4))
        #expect(try value("64 >> 2 >> 1") == .int(8))
        #expect(try value("10 - 4 - 3") == .int(3))
        #expect(try value("2 ** 3 ** 2") == .double(64))
        #expect(try value("-2 ** 2 + ~1 & 255") == .int(2))
    }

    @Test(arguments: [
        ("(flags & 2) != 0", "flags & 2 != 0"),
        ("flags & 2 == 2 && flags | 1 > 0 || ~flags < 0", "(flags & 2 == 2 AND flags | 1 > 0) OR onesComplement:(flags) < 0"),
        ("a<<1>b>>2", "a << 1 > b >> 2"), ("a ^ b ^ c = 1", "(a ^ b) ^ c == 1"),
        ("SUBQUERY(x, $y, $y.f & 1 = 1).@count > 0", "SUBQUERY(x, $y, $y.f & 1 == 1).@count > 0"),
        ("bitwiseAnd:with:(a, 1) == 1", "a & 1 == 1"), ("a != b and a <> b", "a != b AND a != b"),
    ])
    func bitwiseOperatorsPrintAsTheyAreParsed(format: String, printed: String) throws {
        let tree = try Tree(format: format)
        #expect(tree.formatDescription == printed)
        #expect(try Tree(format: printed) == tree)
    }

    /// Random trees of every operator: the printed form parses to the same tree.
    @Test func randomArithmeticRoundTrips() throws {
        var random = SplitMix(state: 5)
        let names = [
            "add:to:", "from:subtract:", "multiply:by:", "divide:by:", "raise:toPower:", "bitwiseAnd:with:", "bitwiseOr:with:",
            "bitwiseXor:with:",
            "leftshift:by:", "rightshift:by:",
        ]
        func term(_ depth: Int) -> Term {
            switch depth == 0 ? 0 : Int.random(in: 0..<5, using: &random) {
            case 0: return Bool.random(using: &random) ? .keyPath(["a"]) : .constant(.int(Int64.random(in: 0...9, using: &random)))
            case 1: return .function("onesComplement:", [term(depth - 1)])
            default: return .function(names[Int.random(in: 0..<names.count, using: &random)], [term(depth - 1), term(depth - 1)])
            }
        }
        for _ in 0..<500 {
            let tree = term(4)
            #expect(try Term(format: tree.formatDescription) == tree)
        }
    }

    private struct SplitMix: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }

    @Test(arguments: ["a &", "& 1", "a & & b", "~", "a << == 1", "a >>> 1 == 1", "a | OR b == 1", "a &= 1"])
    func incompleteBitwiseFormatsThrow(format: String) { #expect(throws: PredicateFailure.self) { try Tree(format: format) } }
}

@Suite struct PredicateFormatErrorTests {
    @Test func invalidUserFormatsThrowWithTheColumn() throws {
        #expect(try NSPredicate(parsing: "a == %@", argumentArray: [3]).description == "a == 3")
        let error = #expect(throws: PredicateFormatError.self) { try NSPredicate(parsing: "a == ") }
        #expect(error?.column == 6)
        #expect(error?.format == "a == ")
        #expect(
            error?.localizedDescription
                == "Unable to parse the format string \"a == \", column 6: expected a key, a value or a condition, found the end")
        #expect(throws: PredicateFormatError.self) { try NSPredicate(parsing: "a == %@") }
        #expect(throws: PredicateFormatError.self) { try NSExpression(parsing: "1 +") }
        #expect(try NSExpression(parsing: "a + 1").description == "a + 1")
    }

    /// The message is printed in release builds too.
    @Test func formatThatCannotBeParsedEndsTheProcessWithASentence() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = NSPredicate(format: "a == == 1")
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(
            text.contains("Unable to parse the format string \"a == == 1\", column 6: expected a key, a value or a condition, found '=='"))
    }
}
