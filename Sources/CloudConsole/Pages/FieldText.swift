// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire
import SystemSupport

/// Values of fields as a person reads and types them.
enum FieldText {
    static func isEditable(_ type: String) -> Bool {
        let element = type.hasSuffix("_LIST") ? String(type.dropLast(5)) : type
        return [
            "STRING", "INT64", "DOUBLE", "TIMESTAMP", "REFERENCE", "LOCATION", "NUMBER", "NUMBER_INT64", "NUMBER_DOUBLE",
        ].contains(element)
    }

    /// Whether a browser returns the text of a control unchanged, except for line breaks. HTML has no NUL.
    static func survivesForms(_ text: String) -> Bool { !text.utf8.contains(0) }

    /// A value for people to compare: one element a line.
    static func lines(_ value: FieldValue?) -> String {
        guard case .list(let elements, _)? = value else { return value == nil ? "no value" : text(value) }
        return elements.isEmpty ? "empty list" : elements.map { text($0) }.joined(separator: "\n")
    }

    /// The part of a value that its text does not show, and that editing the text leaves unchanged.
    static func detail(_ value: FieldValue?) -> String {
        switch value {
        case .reference(let reference)?:
            [
                reference.action == .none ? nil : reference.action.rawValue, reference.zoneID.map { "in zone \($0.zoneName)" },
                reference.zoneID?.ownerRecordName.map { "of \($0)" },
            ].compactMap(\.self).joined(separator: " ")
        case .location(let location)?:
            [
                location.altitude.map { "altitude \($0) m" }, location.horizontalAccuracy.map { "accuracy \($0) m" },
                location.verticalAccuracy.map { "vertical accuracy \($0) m" }, location.speed.map { "speed \($0) m/s" },
                location.course.map { "course \($0)°" }, location.timestamp.map { "at \(date($0))" },
            ].compactMap(\.self).joined(separator: ", ")
        default: ""
        }
    }

    static func text(_ value: FieldValue?) -> String {
        switch value {
        case nil: ""
        case .string(let text)?: text
        case .int64(let number)?: String(number)
        case .double(let number)?: String(number)
        case .timestamp(let time)?: date(time)
        case .bytes(let bytes)?: CountText.text(bytes.count, "byte")
        case .reference(let reference)?: reference.recordName
        case .location(let location)?: "\(location.latitude), \(location.longitude)"
        case .asset(let asset)?: "file of \(CountText.text(asset.size, "byte"))"
        case .list(let elements, _)?: elements.map { text($0) }.joined(separator: ", ")
        }
    }

    /// Parses an edited text over the old value: parts that the text does not show stay.
    ///
    /// - Returns: Nil for a text that is not a value of the type.
    static func value(_ text: String, type: String, over old: FieldValue?) -> FieldValue? {
        if let old, LineBreaks.normalized(Self.text(old)).utf8.elementsEqual(text.utf8) { return old }
        switch (value(text, type: type), old) {
        case (.string(let text)?, .string(let old)?): return .string(LineBreaks.styled(text, as: old))
        case (.reference(var reference)?, .reference(let old)?):
            (reference.zoneID, reference.action) = (old.zoneID, old.action)
            return .reference(reference)
        case (.location(let location)?, .location(var kept)?):
            (kept.latitude, kept.longitude) = (location.latitude, location.longitude)
            return .location(kept)
        case (let value, _): return value
        }
    }

    /// Spaces around numbers and times are skipped: they come with copied texts.
    ///
    /// - Returns: Nil for a text that is not a value of the type.
    static func value(_ text: String, type: String) -> FieldValue? {
        switch type {
        case "STRING": .string(text)
        case "INT64", "NUMBER_INT64": Int64(text.trimmed).map { FieldValue.int64($0) }
        case "DOUBLE", "NUMBER_DOUBLE": Double(text.trimmed).flatMap { $0.isFinite ? FieldValue.double($0) : nil }
        case "NUMBER": Int64(text.trimmed).map { FieldValue.int64($0) } ?? value(text, type: "DOUBLE")
        case "TIMESTAMP": milliseconds(text.trimmed).map { FieldValue.timestamp($0) }
        case "REFERENCE": text.isEmpty ? nil : .reference(RecordReference(recordName: text))
        case "LOCATION": location(text)
        default: nil
        }
    }

    /// The problem with a text that is not a value of the field.
    static func problem(_ text: String, type: String, field: String) -> WireError {
        let advice = FieldType(elementOf: type)?.advice ?? ""
        return WireError(.badRequest, "'\(text.prefix(64))' is not a valid \(type) for '\(field)'.\(advice)")
    }

    /// A list of a type such as `STRING`; whole numbers among others become numbers with a fraction.
    static func list(_ elements: [FieldValue], of type: String) -> FieldValue {
        let hasDouble = elements.contains { $0.type == .double }
        let alike = elements.map { element in
            if hasDouble, case .int64(let number) = element { FieldValue.double(Double(number)) } else { element }
        }
        return .list(
            alike,
            of: alike.first?.type ?? FieldType(rawValue: type == "NUMBER_INT64" ? "INT64" : type == "NUMBER_DOUBLE" ? "DOUBLE" : type))
    }

    /// `48.137, 11.575`: degrees north and east.
    private static func location(_ text: String) -> FieldValue? {
        let numbers = text.split { $0 == "," || $0 == " " }.map { Double(String($0)) }
        guard numbers.count == 2, let latitude = numbers[0], let longitude = numbers[1], -90...90 ~= latitude, -180...180 ~= longitude
        else { return nil }
        return .location(RecordLocation(latitude: latitude, longitude: longitude))
    }

    /// `1.5 MB`.
    static func bytes(_ count: Int64) -> String {
        var (number, unit) = (Double(count), 0)
        let units = ["bytes", "kB", "MB", "GB", "TB"]
        while number >= 1000, unit < units.count - 1 { (number, unit) = (number / 1000, unit + 1) }
        return unit == 0 ? CountText.text(count, "byte") : "\((number * 10).rounded() / 10) \(units[unit])"
    }

    /// `3 d 4 h`, `4 h 5 min` or `5 min`.
    static func duration(_ milliseconds: Int64) -> String {
        let minutes = max(0, milliseconds) / 60_000
        let (days, hours) = (minutes / 1440, minutes / 60 % 24)
        if days > 0 { return "\(days) d \(hours) h" }
        return hours > 0 ? "\(hours) h \(minutes % 60) min" : "\(minutes) min"
    }

    static func isAsset(_ type: String) -> Bool { type == "ASSETID" || type == "ASSET" }

    /// Milliseconds of the years 0 to 9999.
    private static let dated: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

    /// `2030-01-02 03:04:05.000` in UTC; milliseconds since 1970 for years before 0 and after 9999.
    static func date(_ milliseconds: Int64?) -> String {
        guard let milliseconds else { return "" }
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

    /// Reads what ``date(_:)`` writes, with or without time, seconds and fraction, also with `T` and `Z`, or plain milliseconds. Texts
    /// with another zone or an era are refused, since their digits would be another time in UTC.
    private static func milliseconds(_ text: String) -> Int64? {
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
        return date(milliseconds).hasPrefix("\(pad(values[0], 4))-\(pad(values[1], 2))-\(pad(values[2], 2)) ") ? milliseconds : nil
    }
}

extension Int64 {
    /// Quotient towards minus infinity, with a remainder that is never negative.
    fileprivate func quotientFloored(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
