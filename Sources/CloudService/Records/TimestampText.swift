// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Times as texts, to the millisecond, in UTC.
package enum TimestampText {
    /// Milliseconds of the years 0 to 9999.
    private static let dated: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

    /// `2030-01-02 03:04:05.000` in UTC; milliseconds since 1970 for years before 0 and after 9999.
    package static func text(_ milliseconds: Int64) -> String {
        guard dated.contains(milliseconds) else { return String(milliseconds) }
        let (days, millisecondsOfDay) = milliseconds.quotientFloored(by: 86_400_000)
        // Years that begin in March, in the Gregorian calendar.
        let shifted = days + 719_468
        let (era, dayOfEra) = shifted.quotientFloored(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return
            "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2)) \(pad(millisecondsOfDay / 3_600_000, 2)):\(pad(millisecondsOfDay / 60_000 % 60, 2)):"
            + "\(pad(millisecondsOfDay / 1000 % 60, 2)).\(pad(millisecondsOfDay % 1000, 3))"
    }

    private static func pad(_ number: Int64, _ digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }

    /// Reads texts of ``text(_:)`` and ``iso(_:)``, also without time, seconds or fraction, or plain milliseconds. Texts with
    /// another zone or an era are refused, since their digits would be another time in UTC.
    package static func milliseconds(_ text: String) -> Int64? {
        if let number = Int64(text) { return number }
        let form = /([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?:[ T]([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,3}))?)?Z?)?/
        guard let parts = text.wholeMatch(of: form)?.output else { return nil }
        func number(_ digits: Substring?) -> Int64 { digits.flatMap { Int64($0) } ?? 0 }
        // `.5` is 500 milliseconds.
        let fraction = parts.7.map { ($0 + "00").prefix(3) }
        let values = [
            number(parts.1), number(parts.2), number(parts.3), number(parts.4), number(parts.5), number(parts.6), number(fraction),
        ]
        guard 1...12 ~= values[1], 1...31 ~= values[2], values[3] < 24, values[4] < 60, values[5] < 60 else { return nil }
        let year = values[1] <= 2 ? values[0] - 1 : values[0]
        // January and February of the year 0 are in the year -1 that began in March.
        let (era, yearOfEra) = year.quotientFloored(by: 400)
        let dayOfYear = (153 * (values[1] + (values[1] > 2 ? -3 : 9)) + 2) / 5 + values[2] - 1
        let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
        let milliseconds = ((days * 24 + values[3]) * 60 + values[4]) * 60_000 + values[5] * 1000 + values[6]
        // 30 February does not exist.
        return Self.text(milliseconds).hasPrefix("\(pad(values[0], 4))-\(pad(values[1], 2))-\(pad(values[2], 2)) ") ? milliseconds : nil
    }

    /// `2030-01-02T03:04:05Z`, with a fraction if there are milliseconds.
    ///
    /// Source: ISO 8601.
    package static func iso(_ milliseconds: Int64) -> String {
        guard dated.contains(milliseconds) else { return String(milliseconds) }
        let spaced = text(milliseconds)
        return "\(spaced.prefix(10))T\(spaced.dropFirst(11).prefix(milliseconds % 1000 == 0 ? 8 : 12))Z"
    }

    /// Reads a time that may have an offset from UTC, such as `2030-01-02T03:04:05+02:00`.
    package static func milliseconds(zoned text: String) -> Int64? {
        if let time = milliseconds(text) { return time }
        guard let parts = text.wholeMatch(of: /(.+:.+)([+-])([0-9]{2}):?([0-9]{2})/)?.output, !parts.1.hasSuffix("Z"),
            let local = milliseconds(String(parts.1)), let hours = Int64(parts.3), let minutes = Int64(parts.4), hours < 24, minutes < 60
        else { return nil }
        let offset = (hours * 60 + minutes) * 60_000
        return parts.2 == "+" ? local - offset : local + offset
    }
}

extension Int64 {
    /// Quotient towards minus infinity, with a remainder that is never negative.
    fileprivate func quotientFloored(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
