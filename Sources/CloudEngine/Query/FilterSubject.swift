// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// A record that filters are compared with. It folds, hashes and splits each field at most once, however many filters look at it, and
/// counts the work.
///
/// Not thread-safe: it belongs to one evaluation.
final class FilterSubject {
    /// Work of one filter without its values, in bytes.
    private static let workPerFilter = 32
    private static let workPerValue = 16

    let record: Record
    let zoneName: String
    /// Bytes looked at so far, a fixed charge for each filter and value included.
    private(set) var work = 0

    private var elementSets: [QueryField.Subject: ValueSet] = [:]
    private var foldedTexts: [QueryField.Subject: [UInt8]] = [:]
    private var wordSets: [QueryField.Subject: Set<String>] = [:]

    init(_ record: Record, inZone zoneName: String) {
        self.record = record
        self.zoneName = zoneName
    }

    func charge(values: Int) { work += Self.workPerFilter + Self.workPerValue * values }

    func charge(bytes: Int) { work += bytes }

    /// The elements of a list field.
    func elementSet(_ elements: [FieldValue], of field: QueryField) -> ValueSet {
        if let set = elementSets[field.subject] { return set }
        work += Self.workPerValue * elements.count + elements.reduce(0) { $0 + RecordSize.bytes(of: $1) }
        let set = ValueSet(elements, inZone: zoneName)
        elementSets[field.subject] = set
        return set
    }

    func foldedText(_ text: String, of field: QueryField) -> [UInt8] {
        if let folded = foldedTexts[field.subject] { return folded }
        work += text.utf8.count
        let folded = ValueSet.folded(text)
        foldedTexts[field.subject] = folded
        return folded
    }

    /// The words of a field, or of all searchable fields.
    func words(of field: QueryField) -> Set<String> {
        if let words = wordSets[field.subject] { return words }
        let values: [FieldValue?] =
            if case .allSearchable(let names) = field.subject { names.map { record.fields[$0]?.value } } else { [field.value(in: record)] }
        var words: Set<String> = []
        for case let value? in values {
            // Splitting costs several times what comparing does.
            work += 8 * RecordSize.bytes(of: value)
            words.formUnion(Tokens.words(in: value))
        }
        wordSets[field.subject] = words
        return words
    }
}
