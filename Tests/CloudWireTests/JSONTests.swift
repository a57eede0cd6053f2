// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Testing

/// One value of any type, so that JSON can be tested as such.
private struct Box: WireMessage {
    var field: Field

    init(from reader: inout JSONReader) throws(JSONFault) {
        field = Field(try FieldProbe.read(&reader))
    }

    func write(to writer: inout JSONWriter) {
        field.write(to: &writer)
    }
}

private enum FieldProbe {
    static func read(_ reader: inout JSONReader) throws(JSONFault) -> FieldValue? {
        switch try reader.peek() {
        case .string: return .string(try reader.readString())
        case .number:
            switch try reader.readNumber() {
            case .int(let value): return .int64(value)
            case .double(let value): return .double(value)
            }
        case .object, .array, .bool, .null:
            try reader.skipValue()
            return nil
        }
    }
}

@Suite struct JSONTests {
    private func read(_ json: String) throws(WireError) -> FieldValue? { try decode(json, as: Box.self).field.value }

    @Test(arguments: [
        ("0", 0), ("-1", -1), ("9223372036854775807", Int64.max), ("-9223372036854775808", .min), (" 12\n", 12),
    ])
    func wholeNumbersAreExact(_ json: String, _ value: Int64) throws {
        #expect(try read(json) == .int64(value))
    }

    @Test(arguments: [
        "0.1", "1e0", "-0.0", "3.141592653589793", "1.7976931348623157e308", "5e-324", "2.2250738585072014E-308",
        "9223372036854775808", "-9223372036854775809", "123456789012345678901234567890", "0.30000000000000004",
        "1e22", "1e23", "9007199254740993.0", "8.5e-7", "1E+2", "179769313486231570000000000000000000000e270",
    ])
    func fractionsAreTheNearestDouble(_ json: String) throws {
        guard case .double(let value) = try read(json) else {
            Issue.record("\(json) is not read as a fraction")
            return
        }
        #expect(value.bitPattern == Double(json)?.bitPattern)
    }

    @Test(arguments: [
        (#""""#, ""), (#""a\"\\\/\b\f\n\r\tz""#, "a\"\\/\u{8}\u{C}\n\r\tz"), (#""\u00e9\u20AC\ud83d\ude00""#, "é€😀"),
        (#""é€😀 and more than eight bytes of it""#, "é€😀 and more than eight bytes of it"), (#""\u0000""#, "\0"),
        (#""12345678\n12345678""#, "12345678\n12345678"),
    ])
    func stringsAreUnescaped(_ json: String, _ value: String) throws {
        #expect(try read(json) == .string(value))
    }

    @Test(arguments: [
        ("", "the text ends too early, at byte 0"), ("nul", "the text ends too early, at byte 3"),
        ("nulL", "expected a value, at byte 0"), ("[1,]", "a comma stands before the end, at [1] (byte 3)"),
        ("[1 2]", "expected a comma or the end, at [0] (byte 3)"), ("[,1]", "expected a value, at [0] (byte 1)"),
        (#"{"a":1,}"#, "a comma stands before the end, at byte 7"), (#"{"a" 1}"#, "expected a colon, at a (byte 5)"),
        (#"{1:2}"#, "expected a key, at byte 1"), ("1 2", "there is text after the value, at byte 2"),
        ("01", "a number begins with zero, at byte 0"), ("1.", "expected a digit, at byte 2"),
        ("1e", "expected a digit, at byte 2"), ("-", "expected a number, at byte 0"),
        ("1e999", "a number is too large, at byte 0"), ("+1", "expected a value, at byte 0"),
        ("NaN", "expected a value, at byte 0"), (#""abc"#, "the text ends inside a string, at byte 4"),
        (#""\x""#, "an unknown escape, at byte 1"), (#""\u12g4""#, "expected four hexadecimal digits, at byte 5"),
        (#""\ud83d""#, "half of a surrogate pair, at byte 1"), (#""\ude00""#, "half of a surrogate pair, at byte 1"),
        (#""\ud83d\u0041""#, "half of a surrogate pair, at byte 1"),
        ("\"a\nb\"", "a string holds a control character, at byte 2"), ("\u{FEFF}1", "expected a value, at byte 0"),
        (
            String(repeating: "[", count: 33),
            "too many levels of objects and arrays, at " + String(repeating: "[0]", count: 32) + " (byte 32)"
        ),
        (String(repeating: "1", count: 1025), "a number is too long, at byte 0"),
    ])
    func invalidJSONIsRejectedWithItsOffset(_ json: String, _ reason: String) {
        #expect(refusal(json, as: Box.self) == reason)
    }

    @Test func thirtyTwoLevelsAreAccepted() {
        let json = String(repeating: "[", count: 32) + String(repeating: "]", count: 32)
        #expect(refusal(json, as: Box.self) == nil)
    }

    @Test(
        arguments: [
            [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x80, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x28, 0xA1], [0xE2, 0x82, 0x28],
        ] as [[UInt8]])
    func invalidUTF8IsRejectedWithItsOffset(_ bytes: [UInt8]) {
        let json = Array(#"{"key":"twelve bytes"#.utf8) + bytes + Array(#" and more"}"#.utf8)
        do {
            _ = try Record(json: json)
            Issue.record("read although it is not UTF-8")
        } catch {
            #expect(error.reason == "the text is not UTF-8, at key (byte 20)")
        }
    }

    @Test func bytesAreEncodedByRFC4648() {
        let table = [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ]
        for (plain, encoded) in table {
            #expect(Base64.encode(Array(plain.utf8)) == encoded)
            #expect(Base64.decode(encoded) == Array(plain.utf8))
        }
        let refused = ["Z", "Zg", "Zg=", "Zg===", "====", "=g==", "Zh==", "Zm9=", "Zm 9", "Zm9\u{E9}", "Zg==Zg=="]
        #expect(refused.filter { Base64.decode($0) != nil }.isEmpty)
    }

    @Test func doublesThatJSONHasNoNumberForComeBack() throws {
        for value in [Double.infinity, -.infinity, -0.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude] {
            #expect(try Field(json: Field(.double(value)).encoded()) == Field(.double(value)))
        }
        guard case .double(let value) = try Field(json: Field(.double(.nan)).encoded()).value else {
            Issue.record("NaN is not read as a number")
            return
        }
        #expect(value.isNaN)
    }
}
