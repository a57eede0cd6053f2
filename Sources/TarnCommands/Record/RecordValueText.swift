// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire
import Foundation

/// Values of fields as texts: in conditions, assignments and tables.
enum RecordValueText {
    /// Names of types in `FIELD:TYPE`, besides those of the wire.
    static let types: [String: FieldType] = {
        var types = Dictionary(uniqueKeysWithValues: FieldType.allCases.map { ($0.rawValue.lowercased(), $0) })
        types["int"] = .int64
        types["time"] = .timestamp
        types["ref"] = .reference
        return types
    }()

    /// The types of values that a text can have.
    static var typesText: String {
        FieldType.allCases.filter { $0 != .asset }.map { $0.rawValue.lowercased() }.joined(separator: ", ")
    }

    /// The next step after a value of another type than the field's, such as `l=48,11` for a location; nil for other reasons.
    static func step(after reason: String) -> String? {
        if let match = reason.firstMatch(of: /set value type \w+ for field '(\w+)' for type '\w+', defined to be: (\w+)$/) {
            switch FieldType(rawValue: String(match.2)) {
            case nil: return match.2.hasSuffix("_LIST") ? "Set lists in the console, or with 'tarn record import'." : nil
            case .asset?: return "Set files in the console."
            case let type?: return "Write \(match.1):\(type.rawValue.lowercased())=VALUE.\(type.advice)"
            }
        }
        guard let match = reason.firstMatch(of: /^Invalid value, expected type (\w+)$/), let type = FieldType(rawValue: String(match.1))
        else { return nil }
        return "Name the type in the condition, such as FIELD:\(type.rawValue.lowercased()).\(type.advice)"
    }

    /// Parses `NAME` or `NAME:TYPE`.
    static func field(_ text: Substring) -> (name: String, type: FieldType?)? {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = parts.first, !name.isEmpty, name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" }) else { return nil }
        guard parts.count == 2 else { return (String(name), nil) }
        return types[parts[1].lowercased()].map { (String(name), $0) }
    }

    /// Splits at commas outside of quotation marks. Nil for a quotation without an end.
    static func split(_ text: Substring) -> [String]? {
        var (parts, part, quote) = ([String](), "", nil as Character?)
        for character in text {
            if let open = quote {
                if character == open { quote = nil }
                part.append(character)
            } else if character == "," {
                parts.append(part.trimmingCharacters(in: .whitespaces))
                part = ""
            } else {
                if (character == "'" || character == "\""), part.allSatisfy(\.isWhitespace) { quote = character }
                part.append(character)
            }
        }
        return quote == nil ? parts + [part.trimmingCharacters(in: .whitespaces)] : nil
    }

    /// Parses a value. Without a type: quoted is a text, then a whole number, a number, a time, `@NAME` a reference, else a text.
    ///
    /// - Returns: Nil for a text that is not a value of the type.
    static func value(_ text: String, _ type: FieldType?) -> FieldValue? {
        let isQuoted = text.count >= 2 && (text.first == "'" || text.first == "\"") && text.last == text.first
        let content = isQuoted ? String(text.dropFirst().dropLast()) : text
        guard let type else {
            if isQuoted { return .string(content) }
            if content.hasPrefix("@"), content.count > 1 { return .reference(RecordReference(recordName: String(content.dropFirst()))) }
            return Int64(content).map { .int64($0) } ?? number(content) ?? time(content) ?? .string(content)
        }
        switch type {
        case .string: return .string(content)
        case .int64: return content == "true" ? .int64(1) : content == "false" ? .int64(0) : Int64(content).map { .int64($0) }
        case .double: return Double(content).flatMap { $0.isFinite ? .double($0) : nil }
        case .timestamp:
            let isDay = content.wholeMatch(of: /\d{4}-\d\d-\d\d/) != nil
            return time(isDay ? content + "T00:00:00Z" : content) ?? Int64(content).map { .timestamp($0) }
        case .bytes: return Base64.decode(content).map { .bytes($0) }
        case .reference:
            let name = content.hasPrefix("@") ? String(content.dropFirst()) : content
            return name.isEmpty ? nil : .reference(RecordReference(recordName: name))
        case .location:
            let numbers = content.split(separator: ",").map { Double($0.trimmingCharacters(in: .whitespaces)) }
            guard numbers.count == 2, let latitude = numbers[0], let longitude = numbers[1], -90...90 ~= latitude, -180...180 ~= longitude
            else { return nil }
            return .location(RecordLocation(latitude: latitude, longitude: longitude))
        case .asset: return nil
        }
    }

    /// Digits with a point; other texts that `Double` reads, such as `nan` or `inf`, are texts.
    private static func number(_ text: String) -> FieldValue? {
        guard text.contains("."), text.allSatisfy({ $0.isASCII && ($0.isNumber || "+-.eE".contains($0)) }) else { return nil }
        return Double(text).flatMap { $0.isFinite ? .double($0) : nil }
    }

    private static func time(_ text: String) -> FieldValue? { Moment(argument: text).map { .timestamp($0.milliseconds) } }

    /// A value for people.
    static func text(_ value: FieldValue?) -> String {
        switch value {
        case nil: ""
        case .string(let text)?: text
        case .int64(let number)?: String(number)
        case .double(let number)?: String(number)
        case .timestamp(let time)?: Self.text(time: time)
        case .bytes(let bytes)?: ByteText.text(Int64(bytes.count))
        case .reference(let reference)?: "@" + reference.recordName
        case .location(let location)?: "\(location.latitude),\(location.longitude)"
        case .asset(let asset)?: "file of \(ByteText.text(asset.size))"
        case .list(let elements, _)?: elements.map { text($0) }.joined(separator: ", ")
        }
    }

    /// ISO 8601 with milliseconds, which a round trip needs.
    private static func text(time: Int64) -> String {
        let text = TimeText.utc(time)
        guard time % 1000 != 0, text.hasSuffix("Z") else { return text }
        let fraction = String(((time % 1000) + 1000) % 1000)
        return text.dropLast() + "." + String(repeating: "0", count: 3 - fraction.count) + fraction + "Z"
    }
}
