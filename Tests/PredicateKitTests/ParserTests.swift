// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import PredicateKit
import Testing

@Suite struct ParserTests {
    typealias Tree = PredicateKit.Predicate

    /// Format, arguments, and the canonical format of the parsed predicate.
    static let good: [(String, [FormatArgument], String)] = [
        ("a = 1", [], "a == 1"), ("a == 1 && b <> 2 || !c >= 3", [], "(a == 1 AND b != 2) OR NOT c >= 3"),
        ("a =< 1 or a => 2", [], "a <= 1 OR a >= 2"), ("not not a == 1", [], "NOT NOT a == 1"),
        ("a == 1 AND b == 2 AND c == 3", [], "a == 1 AND b == 2 AND c == 3"),
        ("(a == 1 AND b == 2) AND (c == 3)", [], "(a == 1 AND b == 2) AND c == 3"),
        ("((a)) == ((1))", [], "a == 1"), ("a.b.c BEGINSWITH[cd] 'x'", [], "a.b.c BEGINSWITH[cd] \"x\""),
        ("a contains[dc] \"y\"", [], "a CONTAINS[cd] \"y\""),
        ("a like 'b*' and c matches 'd.'", [], "a LIKE \"b*\" AND c MATCHES \"d.\""),
        ("a endswith[n] 'x'", [], "a ENDSWITH[n] \"x\""), ("a IN {1, -2, 'x', nil}", [], "a IN {1, -2, \"x\", nil}"),
        ("a IN {}", [], "a IN {}"), ("a between {1, b}", [], "a BETWEEN {1, b}"),
        ("a == YES or a == false", [], "a == 1 OR a == 0"), ("a == NULL", [], "a == nil"),
        ("0x1F < 0o17 and 0b101 > 1.5e-3", [], "31 < 15 AND 5 > 0.0015"), ("a > 99999999999999999999", [], "a > 1e+20"),
        ("#in == 1 and #size == 2", [], "#in == 1 AND size == 2"), ("a.in.size == 1", [], "a.in.size == 1"),
        ("größe == 1 and _x1 == 2", [], "größe == 1 AND _x1 == 2"),
        ("'it\\'s' == \"tab\\t\\u00e9\\\\\"", [], "\"it's\" == \"tab\\té\\\\\""),
        ("'100%' == '%@'", [], "\"100%\" == \"%@\""),
        ("SELF == 1 and self.a == 2", [], "SELF == 1 AND a == 2"), ("SELF IN $list", [], "SELF IN $list"),
        ("$x.a.b == $y", [], "$x.a.b == $y"), ("ANY a.b == 1", [], "ANY a.b == 1"),
        ("some a.b == 1", [], "ANY a.b == 1"),
        ("NONE a.b == 1 and all c == 2", [], "NOT ANY a.b == 1 AND ALL c == 2"), ("a.@count > 0", [], "a.@count > 0"),
        ("a.@sum.b > a.c.@avg", [], "a.@sum.b > a.c.@avg"), ("a[SIZE] == 2", [], "a.@count == 2"),
        ("a[FIRST] == b[2]", [], "objectFrom:withIndex:(a, \"FIRST\") == objectFrom:withIndex:(b, 2)"),
        ("a + b * 2 - c ** 2 / 4 == -d", [], "(a + (b * 2)) - ((c ** 2) / 4) == chs:(d)"),
        ("(a + b) * 2 > 0", [], "(a + b) * 2 > 0"), ("length(a) > 1", [], "length:(a) > 1"),
        (
            "canonical:(a) == 'x' and uppercase:(b) == lowercase(c)", [],
            "canonical:(a) == \"x\" AND uppercase:(b) == lowercase:(c)"
        ),
        ("sum(a, b) > max({1, 2})", [], "sum:(a, b) > max:({1, 2})"),
        ("modulus:by:(a, 2) == 0", [], "modulus:by:(a, 2) == 0"),
        ("a < now()", [], "a < now()"), ("FUNCTION(a, 'uppercase:') == 'X'", [], "uppercase:(a) == \"X\""),
        ("a > CAST(10.5, 'NSDate')", [], "a > CAST(10.5, \"NSDate\")"),
        ("CAST(a, 'NSString') == '1'", [], "CAST(a, \"NSString\") == \"1\""),
        ("SUBQUERY(a, $x, $x.b == 1 AND c == 2).@count > 0", [], "SUBQUERY(a, $x, $x.b == 1 AND c == 2).@count > 0"),
        ("TERNARY(a == 1, b, 'c') == 'c'", [], "TERNARY(a == 1, b, \"c\") == \"c\""),
        ("TRUEPREDICATE", [], "TRUEPREDICATE"),
        ("%K == %@", [.value(.string("a.b")), .value(.string("x y"))], "a.b == \"x y\""),
        ("c.%K > %ld", [.value(.string("a")), .value(.int(7))], "c.a > 7"),
        ("a == %d and b < %.f", [.value(.int(1))], ""),
        ("a == %lu and b < %f", [.value(.int(1)), .value(.double(0.5))], "a == 1 AND b < 0.5"),
        ("a IN %@", [.value(.list([.int(1), .null]))], "a IN {1, nil}"), ("a == %@", [.value(.null)], "a == nil"),
        ("%@ AND b == 2", [.predicate(.value(true))], "TRUEPREDICATE AND b == 2"),
        ("%@ > 3", [.expression(.keyPath(["k"]))], "k > 3"), ("a == 1", [.value(.int(9))], "a == 1"),
    ]

    @Test(arguments: good.indices.filter { !good[$0].2.isEmpty })
    func aFormatIsReadAndItsCanonicalFormReadsTheSame(_ index: Int) throws {
        let (format, arguments, canonical) = Self.good[index]
        let tree = try Tree(format: format, arguments)
        #expect(tree.formatDescription == canonical)
        #expect(try Tree(format: canonical).canonical == tree.canonical)
    }

    /// Format, arguments, column, and a part of the message.
    static let bad: [(String, [FormatArgument], Int, String)] = [
        ("", [], 1, "expected a key"), ("a", [], 2, "expected a comparison operator"),
        ("a ==", [], 5, "expected a key"),
        ("a == 1 b == 2", [], 8, "expected AND, OR or the end"), ("a == 1 AND", [], 11, "expected a key"),
        ("(a == 1", [], 8, "expected ')'"), ("a == 'x", [], 6, "no closing"), ("a == {1, 2", [], 11, "expected '}'"),
        ("a ==[x] 1", [], 6, "expected c, d, n or l"), ("a == 1e", [], 7, "unexpected 'e'"),
        ("a == 0xZ", [], 6, "isn't a number"),
        ("in == 1", [], 1, "reserved word"), ("a.b. == 1", [], 6, "expected a key"), ("a ; b", [], 3, "unexpected ';'"),
        ("a == %@", [], 6, "placeholder 1 has no argument"),
        ("%K == 1", [.value(.int(1))], 1, "%K needs a key path"),
        ("a == %d", [.value(.string("x"))], 6, "%d needs a number"), ("a == %z", [], 6, "letter after %"),
        ("a == %y", [], 6, "%y is not"),
        ("nosuch(a) == 1", [], 1, "unknown function nosuch"), ("length(a, b) == 1", [], 1, "unknown function length of 2"),
        ("SUBQUERY(a, x, b == 1).@count > 0", [], 13, "variable of SUBQUERY"),
        ("(a == 1) == 2", [], 1, "expected a value"),
        ("1 + (a == 1) == 2", [], 5, "expected a value"), ("ANY a.b", [], 8, "expected a comparison operator"),
        ("a AND b == 1", [], 3, "expected a comparison operator"), ("a == \"\\u12\"", [], 9, "hexadecimal"),
        (String(repeating: "(", count: 5_000), [], 201, "levels are nested"),
        (String(repeating: "!", count: 5_000), [], 202, "levels"),
        (String(repeating: "1+", count: 5_000), [], 402, "in a row"),
        ("FETCH(a, b, NO) == 1", [], 1, "not supported"), ("a == $", [], 7, "expected a name"),
    ]

    @Test(arguments: bad.indices)
    func anInvalidFormatIsRejectedWithItsColumnAndTheExpectedToken(_ index: Int) throws {
        let (format, arguments, column, part) = Self.bad[index]
        let error = #expect(throws: PredicateFailure.self) { try Tree(format: format, arguments) }
        #expect(error?.column == column, "\(error as Any)")
        #expect(error?.detail.contains(part) == true, "\(error as Any)")
    }

    @Test func everyPrefixAndEveryChangedCharacterIsParsedOrRejectedButNeverTraps() {
        let format =
            "NOT ANY a.b LIKE[c] 'x\\u00e9' OR SUBQUERY(t, $x, $x.n IN {1.5e3, -2}).@count >= %d AND TERNARY(p == %K, -q[1], r ** 2) <> nil"
        let characters = Array(format)
        let arguments: [FormatArgument] = [.value(.int(1)), .value(.string("k"))]
        var read = 0
        for index in characters.indices {
            for replacement in ["", "(", "'", "%", "@", "9", "$", ".", "]"] {
                let text =
                    String(characters[..<index]) + replacement
                    + (replacement.isEmpty ? "" : String(characters[(index + 1)...]))
                if (try? Tree(format: text, arguments)) != nil { read += 1 }
            }
        }
        #expect(read > 100)
    }

    @Test func variablesAreReplacedButIteratorsStayTheirOwn() throws {
        let tree = try Tree(format: "a == $x AND SUBQUERY(b, $x, $x.c == $y).@count > 0")
        #expect(
            tree.substituting(["x": .int(1), "y": .string("z")]).formatDescription
                == "a == 1 AND SUBQUERY(b, $x, $x.c == \"z\").@count > 0")
    }
}
