// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A JSON number: exact if it is an integer of 64 bits, otherwise the nearest `Double`.
package enum JSONNumber: Equatable {
    case int(Int64)
    case double(Double)
}

extension JSONReader {
    package mutating func readNumber() throws(JSONFault) -> JSONNumber {
        let start = try next()
        let isNegative = bytes[start] == UInt8(ascii: "-")
        if isNegative { index += 1 }
        guard let first = digit() else { throw JSONFault("expected a number", at: start) }

        // Digits accumulate in `mantissa` while they fit. The standard library parses longer numbers.
        var mantissa: UInt64 = 0
        var fits = true
        func gather(_ digit: UInt8) {
            let (shifted, over) = mantissa.multipliedReportingOverflow(by: 10)
            let (sum, carry) = shifted.addingReportingOverflow(UInt64(digit))
            if over || carry { fits = false } else { mantissa = sum }
        }
        gather(first)
        index += 1
        if first != 0 {
            while let next = digit() {
                gather(next)
                index += 1
            }
        } else if digit() != nil {
            throw JSONFault("a number begins with zero", at: start)
        }

        var exponent = 0
        var isWhole = true
        if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
            isWhole = false
            index += 1
            guard digit() != nil else { throw JSONFault("expected a digit", at: index) }
            while let next = digit() {
                gather(next)
                exponent -= 1
                index += 1
            }
        }
        if index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") {
            isWhole = false
            exponent += try readExponent()
        }
        guard index - start <= JSONReader.numberBytesMax else { throw JSONFault("a number is too long", at: start) }

        if isWhole, fits {
            if isNegative, mantissa != 0, mantissa <= Int64.min.magnitude {
                return .int(Int64(truncatingIfNeeded: 0 &- mantissa))
            }
            if !isNegative, mantissa <= UInt64(Int64.max) { return .int(Int64(mantissa)) }
        }
        return .double(try double(start, isNegative ? .minus : .plus, fits ? mantissa : nil, exponent))
    }

    /// Reads an integer. 64-bit numbers as strings, and numbers like `12.0`, are accepted.
    package mutating func readInt64() throws(JSONFault) -> Int64 {
        let start = try next()
        let number: JSONNumber
        if bytes[start] == UInt8(ascii: "\"") {
            number = try readQuotedNumber()
        } else {
            number = try readNumber()
        }
        switch number {
        case .int(let value): return value
        case .double(let value):
            guard let exact = Int64(exactly: value) else { throw JSONFault("expected a whole number of 64 bits", at: start) }
            return exact
        }
    }

    /// Reads milliseconds since 1970. With ``roundsTimestamps``, fractions are rounded to the nearest millisecond.
    ///
    /// Source: *CloudKit Web Services Reference*, "Record Field Dictionary": a time is a number of milliseconds. The text does not say
    /// that it is whole.
    mutating func readTimestamp() throws(JSONFault) -> Int64 {
        guard roundsTimestamps else { return try readInt64() }
        let start = try next()
        let number: JSONNumber
        if bytes[start] == UInt8(ascii: "\"") {
            number = try readQuotedNumber()
        } else {
            number = try readNumber()
        }
        switch number {
        case .int(let value): return value
        case .double(let value):
            guard let whole = Int64(exactly: value.rounded()) else { throw JSONFault("expected milliseconds of 64 bits", at: start) }
            return whole
        }
    }

    /// Reads a count or a limit.
    package mutating func readInt() throws(JSONFault) -> Int {
        let start = try next()
        guard let value = Int(exactly: try readInt64()) else { throw JSONFault("a number is too large", at: start) }
        return value
    }

    /// Reads a number. Values that JSON cannot represent are the strings `NaN`, `Infinity` and `-Infinity`.
    package mutating func readDouble() throws(JSONFault) -> Double {
        let start = try next()
        let number: JSONNumber
        if bytes[start] == UInt8(ascii: "\"") {
            let mark = self
            switch try readToken() {
            case "NaN": return .nan
            case "Infinity": return .infinity
            case "-Infinity": return -.infinity
            default:
                self = mark
                number = try readQuotedNumber()
            }
        } else {
            number = try readNumber()
        }
        switch number {
        case .int(let value): return Double(value)
        case .double(let value): return value
        }
    }

    /// Reads true, false, or a number, with zero for false.
    package mutating func readFlag() throws(JSONFault) -> Bool {
        try peek() == .number ? try readInt64() != 0 : try readBool()
    }

    private mutating func readQuotedNumber() throws(JSONFault) -> JSONNumber {
        let start = try next()
        let span = try scanString()
        var inner = JSONReader(UnsafeBufferPointer(rebasing: bytes[span.range]))
        guard let number = try? inner.readNumber(), inner.index == inner.bytes.count else {
            throw JSONFault("expected a number", at: start)
        }
        return number
    }

    private func digit() -> UInt8? {
        guard index < bytes.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[index] else { return nil }
        return bytes[index] - UInt8(ascii: "0")
    }

    private mutating func readExponent() throws(JSONFault) -> Int {
        index += 1
        var isNegative = false
        if index < bytes.count, bytes[index] == UInt8(ascii: "+") || bytes[index] == UInt8(ascii: "-") {
            isNegative = bytes[index] == UInt8(ascii: "-")
            index += 1
        }
        guard digit() != nil else { throw JSONFault("expected a digit", at: index) }
        var exponent = 0
        while let next = digit() {
            // Far outside of the range of a Double, where more digits make no difference.
            if exponent < 1_000_000 { exponent = exponent * 10 + Int(next) }
            index += 1
        }
        return isNegative ? -exponent : exponent
    }

    /// The Double nearest to the digits from `start` on.
    private func double(
        _ start: Int, _ sign: FloatingPointSign, _ mantissa: UInt64?, _ exponent: Int
    ) throws(JSONFault) -> Double {
        // Both factors are exact, so one operation rounds once.
        // Source: W. D. Clinger, "How to Read Floating Point Numbers Accurately", 1990.
        if let mantissa, mantissa <= 1 << 53, -22...22 ~= exponent {
            let magnitude = Double(mantissa)
            let power = JSONReader.powersOfTen[abs(exponent)]
            let value = exponent < 0 ? magnitude / power : magnitude * power
            return sign == .minus ? -value : value
        }
        let text = String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<index]), as: UTF8.self)
        guard let value = Double(text), value.isFinite else { throw JSONFault("a number is too large", at: start) }
        return value
    }

    private static let powersOfTen: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]
}
