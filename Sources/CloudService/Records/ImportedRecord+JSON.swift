// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudWire

extension ImportedRecord {
    /// Keeps the parts of a file's record that an import saves. Stamps, versions and files of assets are the server's.
    ///
    /// - Parameter limits: Those of the server, if they are known.
    /// - Returns: nil for a deletion, a share, or the record of a user, which another server cannot have.
    /// - Throws: The problem with the record's name or type.
    package init?(reading source: Record, columns: Set<String>? = nil, _ limits: Limits = Limits()) throws(WireError) {
        if source.isDeleted || source.recordType == ShareDetails.recordType || source.recordType == UsersType.name { return nil }
        guard !source.recordName.isEmpty else { throw WireError(.badRequest, "the record has no recordName") }
        guard !source.recordType.isEmpty else { throw WireError(.badRequest, "the record has no recordType") }
        if let error = NameChecks.record(source.recordName, limits) ?? NameChecks.newRecord(source) {
            throw WireError(.badRequest, "\(source.recordName): \(error.reason)")
        }
        var record = Record(
            recordName: source.recordName, recordType: source.recordType, fields: source.fields.filter { !Self.isAsset($0.value) })
        record.sharing.parent = source.sharing.parent
        self.init(record, columns: columns)
    }

    /// A record of a file or the problem with it.
    package struct Line: Sendable {
        /// Number of the line where the record begins, from 1.
        package let number: Int
        package let record: Result<ImportedRecord, WireError>
    }

    /// Whether a file has JSON, and not CSV. Either may begin with a byte order mark.
    package static func isJSON(_ text: String) -> Bool {
        text.unicodeScalars.first { !$0.properties.isWhitespace && $0 != byteOrderMark } == "{"
    }

    private static let byteOrderMark: Unicode.Scalar = "\u{FEFF}"

    /// Reads JSON: a record a line, as `tarn record export` writes it, or the console's export. Skips a byte order mark.
    ///
    /// - Parameter limits: Those of the server, if they are known.
    /// - Returns: No element for an empty line, and for a record that an import leaves out.
    package static func lines(json text: String, _ limits: Limits = Limits()) -> [Line] {
        let bytes = Array((text.unicodeScalars.first == byteOrderMark ? String(text.unicodeScalars.dropFirst()) : text).utf8)
        if let export = try? LookupRecordsResponse(json: bytes) {
            // A record per line, from the second line on.
            return export.results.enumerated().compactMap { index, result in
                line(index + 2, limits) { () throws(WireError) -> Record in
                    guard case .record(let record) = result else {
                        throw WireError(.badRequest, "the file has an error in place of a record")
                    }
                    return record
                }
            }
        }
        // Of bytes: a character of Swift may be a carriage return with a line feed.
        return bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated().compactMap { index, json in
            guard json.contains(where: { $0 > UInt8(ascii: " ") }) else { return nil }
            return line(index + 1, limits) { () throws(WireError) -> Record in try Record(json: Array(json)) }
        }
    }

    private static func line(_ number: Int, _ limits: Limits, _ read: () throws(WireError) -> Record) -> Line? {
        do throws(WireError) {
            guard let record = try ImportedRecord(reading: try read(), limits) else { return nil }
            return Line(number: number, record: .success(record))
        } catch {
            return Line(number: number, record: .failure(error))
        }
    }
}
