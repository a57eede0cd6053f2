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
        case "TIMESTAMP": TimestampText.milliseconds(text.trimmed).map { FieldValue.timestamp($0) }
        case "REFERENCE": text.isEmpty ? nil : .reference(RecordReference(recordName: text))
        case "LOCATION": RecordLocation(degrees: text).map { FieldValue.location($0) }
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

    /// `2030-01-02 03:04:05.000` in UTC; milliseconds since 1970 for years before 0 and after 9999.
    static func date(_ milliseconds: Int64?) -> String { milliseconds.map(TimestampText.text) ?? "" }
}
