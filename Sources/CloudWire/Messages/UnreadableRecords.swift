// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Records of a response that this version cannot decode, such as those with a field of an unknown type.
///
/// A response is decoded as a whole, so that one such record makes a page of others unreadable.
package struct UnreadableRecords {
    /// Characters of a name in an error.
    private static let namesMax = 255

    private var output: [UInt8] = []
    /// Bytes of the response that `output` has, or replaces.
    private var end = 0

    /// Returns the response with an error in place of each record that cannot be decoded. The errors name the fields.
    ///
    /// - Returns: Nil for a response in which all records can be decoded, and for a text that isn't JSON.
    package static func replaced(in json: [UInt8]) -> [UInt8]? {
        json.withUnsafeBufferPointer { (bytes) -> [UInt8]? in
            var records = UnreadableRecords()
            var reader = JSONReader(bytes)
            reader.roundsTimestamps = true
            do throws(JSONFault) {
                try records.visitResponse(&reader)
                try reader.expectEnd()
            } catch {
                return nil
            }
            return records.end == 0 ? nil : records.output + bytes[records.end...]
        }
    }

    /// Visits a response, or the part of one zone.
    private mutating func visitResponse(_ reader: inout JSONReader) throws(JSONFault) {
        try reader.beginObject()
        while let key = try reader.nextKey(skipsNull: false) {
            guard try reader.peek() == .array else {
                try reader.skipValue()
                continue
            }
            switch key {
            case "records": try visitRecords(&reader)
            case "zones": try visitZones(&reader)
            default: try reader.skipValue()
            }
        }
    }

    private mutating func visitZones(_ reader: inout JSONReader) throws(JSONFault) {
        try reader.beginArray()
        while try reader.nextElement() {
            if try reader.peek() == .object { try visitResponse(&reader) } else { try reader.skipValue() }
        }
    }

    private mutating func visitRecords(_ reader: inout JSONReader) throws(JSONFault) {
        try reader.beginArray()
        while try reader.nextElement() {
            let start = try reader.next()
            var attempt = reader
            do throws(JSONFault) {
                _ = try RecordResult(from: &attempt)
                reader = attempt
            } catch {
                let failure = try Self.failure(error, of: &reader)
                output += reader.bytes[end..<start]
                output += failure.encoded()
                end = reader.index
            }
        }
    }

    /// Skips a record, and returns the error that stands for it.
    private static func failure(_ fault: JSONFault, of reader: inout JSONReader) throws(JSONFault) -> RecordResult {
        var name = ""
        var reason: String?
        if try reader.peek() == .object {
            try reader.beginObject()
            while let key = try reader.nextKey(skipsNull: false) {
                switch (key.text, try reader.peek()) {
                case ("recordName", .string): name = try reader.readString()
                case ("fields", .object): reason = try fieldProblem(&reader)
                default: try reader.skipValue()
                }
            }
        } else {
            try reader.skipValue()
        }
        let error = WireError(.internalError, reason ?? "the record cannot be decoded (\(fault.what))")
        return .failure(recordName: name, error, serverRecord: nil)
    }

    /// Skips the fields of a record, and returns the problem with the first one that cannot be decoded.
    private static func fieldProblem(_ reader: inout JSONReader) throws(JSONFault) -> String? {
        var problem: String?
        try reader.beginObject()
        while let key = try reader.nextKey(skipsNull: false) {
            if problem == nil, try reader.peek() != .null {
                var attempt = reader
                do throws(JSONFault) {
                    _ = try Field(from: &attempt)
                } catch {
                    let type = Self.typeName(of: reader).map { " of type \($0)" } ?? ""
                    problem = "the field \(key.text.prefix(namesMax))\(type) cannot be decoded (\(error.what))"
                }
            }
            try reader.skipValue()
        }
        return problem
    }

    /// - Parameter reader: A reader before a field.
    private static func typeName(of reader: JSONReader) -> String? {
        var reader = reader
        do throws(JSONFault) {
            guard try reader.peek() == .object else { return nil }
            try reader.beginObject()
            while let key = try reader.nextKey() {
                guard key.text == "type", try reader.peek() == .string else {
                    try reader.skipValue()
                    continue
                }
                return String(try reader.readString().prefix(namesMax))
            }
        } catch {
            return nil
        }
        return nil
    }
}
