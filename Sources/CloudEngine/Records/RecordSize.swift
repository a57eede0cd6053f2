// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// How much of the size limits a record uses: the bytes of its names and values without the syntax around them, and
/// without the content of assets.
package enum RecordSize {
    package static func bytes(of record: Record) -> Int {
        record.fields.reduce(record.recordName.utf8.count + record.recordType.utf8.count) { sum, field in
            sum + field.key.utf8.count + (field.value.value.map(bytes) ?? 0)
        }
    }

    static func bytes(of value: FieldValue) -> Int {
        switch value {
        case .string(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        case .int64, .double, .timestamp: 8
        case .reference(let reference):
            reference.recordName.utf8.count + (reference.zoneID?.zoneName.utf8.count ?? 0)
        case .location: 64
        case .asset(let asset): asset.fileChecksum.utf8.count + 8
        case .list(let elements, _): elements.reduce(0) { $0 + bytes(of: $1) }
        }
    }
}
