// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// The stored form of a merge base with its modification date. Every record of a store has one, so it takes little more space than its
/// values: a byte 1, the stamp, the number of fields, and each field with name, kind and value. Integers are variable-length (LEB128);
/// strings have a length prefix. A value without a kind of its own is the JSON of a record with that field alone.
///
/// Sync metadata formats before 9 have the JSON of a record instead, which begins with a brace.
package struct KeptAncestor: Hashable, Sendable {
    package let bytes: [UInt8]

    private static let version: UInt8 = 1

    private enum Kind: UInt8 {
        case json = 0
        case string, int64, double, timestamp, bytes

        static let isEncrypted: UInt8 = 0x80
    }

    private enum Stamp: UInt8 {
        case none = 0
        case user, userAndDevice
    }

    /// - Returns: nil for an empty merge base without a date.
    init?(_ ancestor: Ancestor, _ modified: RecordStamp?) {
        if ancestor.fields.isEmpty && modified == nil { return nil }
        var writer = PackedWriter()
        writer.bytes.append(Self.version)
        Self.write(modified, to: &writer)
        writer.write(UInt64(ancestor.fields.count))
        for (name, field) in ancestor.fields {
            writer.write(name)
            Self.write(field, to: &writer)
        }
        bytes = writer.bytes
    }

    private static func write(_ stamp: RecordStamp?, to writer: inout PackedWriter) {
        guard let stamp else { return writer.bytes.append(Stamp.none.rawValue) }
        writer.bytes.append((stamp.deviceID == nil ? Stamp.user : .userAndDevice).rawValue)
        writer.write(stamp.timestamp)
        writer.write(stamp.userRecordName)
        if let device = stamp.deviceID { writer.write(device) }
    }

    private static func write(_ field: Field, to writer: inout PackedWriter) {
        func begin(_ kind: Kind) { writer.bytes.append(kind.rawValue | (field.isEncrypted ? Kind.isEncrypted : 0)) }
        switch field.value {
        case .string(let text):
            begin(.string)
            writer.write(text)
        case .int64(let number):
            begin(.int64)
            writer.write(number)
        case .double(let number):
            begin(.double)
            writer.write(fixed: number.bitPattern)
        case .timestamp(let milliseconds):
            begin(.timestamp)
            writer.write(milliseconds)
        case .bytes(let bytes):
            begin(.bytes)
            writer.write(bytes)
        case .reference, .location, .asset, .list, nil:
            begin(.json)
            writer.write(Record(recordName: "", fields: ["": field]).encoded())
        }
    }

    /// Decodes a stored merge base.
    ///
    /// - Throws: `WireError` with `.internalError` for bytes that no version of this library wrote.
    package static func read(_ bytes: [UInt8]) throws(WireError) -> (fields: [String: Field], modified: RecordStamp?) {
        guard bytes.first == version else {
            let record = try Record(json: bytes)
            return (record.fields, record.modified)
        }
        var reader = PackedReader(bytes[1...])
        let modified = try readStamp(from: &reader)
        let count = try reader.number()
        // Each takes three bytes at least.
        var fields = [String: Field](minimumCapacity: Int(clamping: min(count, UInt64(bytes.count / 3))))
        for _ in 0..<count {
            let name = try reader.text()
            fields[name] = try readField(from: &reader)
        }
        guard reader.isAtEnd else { throw PackedReader.broken }
        return (fields, modified)
    }

    private static func readStamp(from reader: inout PackedReader) throws(WireError) -> RecordStamp? {
        guard let stamp = Stamp(rawValue: try reader.byte()) else { throw PackedReader.broken }
        if stamp == .none { return nil }
        return RecordStamp(
            timestamp: try reader.signedNumber(), userRecordName: try reader.text(), deviceID: stamp == .userAndDevice ? try reader.text() : nil)
    }

    private static func readField(from reader: inout PackedReader) throws(WireError) -> Field {
        let tag = try reader.byte()
        guard let kind = Kind(rawValue: tag & ~Kind.isEncrypted) else { throw PackedReader.broken }
        let value: FieldValue
        switch kind {
        case .string: value = .string(try reader.text())
        case .int64: value = .int64(try reader.signedNumber())
        case .double: value = .double(Double(bitPattern: try reader.fixed()))
        case .timestamp: value = .timestamp(try reader.signedNumber())
        case .bytes: value = .bytes([UInt8](try reader.slice()))
        case .json:
            guard let field = try Record(json: [UInt8](try reader.slice())).fields[""] else { throw PackedReader.broken }
            return Field(field.value, isEncrypted: tag & Kind.isEncrypted != 0)
        }
        return Field(value, isEncrypted: tag & Kind.isEncrypted != 0)
    }

    package static func == (one: KeptAncestor, other: KeptAncestor) -> Bool { true }
    package func hash(into hasher: inout Hasher) {}
}
