// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import ManagedModel

/// Names of superseded records: their objects were merged into another one, and its record lists them.
///
/// A device that receives only the deletion of a record finds the survivor by this list. Names are sorted, so that all devices write the
/// same text.
package struct MergedNames: Hashable, Sendable {
    /// Of a longer list the first names in order are kept, which are the same on every device.
    package static let countMax = 100
    private static let separator: Character = ":"
    private static let separatorByte = UInt8(ascii: ":")

    package private(set) var names: Set<String> = []

    package init() {}

    /// Decodes the list of a record.
    package init(_ text: String) {
        // To break a text into characters takes longer than all else.
        if text.utf8.allSatisfy({ $0 < 0x80 }) {
            for name in text.utf8.split(separator: Self.separatorByte) { names.insert(String(Substring(name))) }
        } else {
            for name in text.split(separator: Self.separator) { names.insert(String(name)) }
        }
        cut()
    }

    package init(_ names: some Sequence<String>) { for name in names { insert(name) } }

    init(of field: Field) { if case .string(let text)? = field.value { self.init(text) } else { self.init() } }

    /// nil for an empty list.
    package var text: String? { names.isEmpty ? nil : names.sorted().joined(separator: String(Self.separator)) }

    package mutating func insert(_ name: String) {
        // Another client made such a name, which no join record could contain either.
        guard !name.isEmpty, !name.utf8.contains(Self.separatorByte) || !name.contains(Self.separator) else { return }
        names.insert(name)
        cut()
    }

    package mutating func formUnion(_ others: MergedNames) {
        names.formUnion(others.names)
        cut()
    }

    package mutating func remove(_ name: String) { names.remove(name) }

    private mutating func cut() { if names.count > Self.countMax { names = Set(names.sorted().prefix(Self.countMax)) } }

    /// Returns the merge of two lists, name by name.
    package func merged(with there: MergedNames, since before: MergedNames) -> MergedNames {
        let gone = before.names.subtracting(names).union(before.names.subtracting(there.names))
        return MergedNames(names.union(there.names).subtracting(gone))
    }
}

extension PropertyMapping {
    /// Decodes the list of ``Kind/merged``.
    static func mergedNames(_ content: RemoteContent) -> MergedNames {
        if case .inline(.string(let text)) = content { MergedNames(text) } else { MergedNames() }
    }
}

extension Ancestor {
    /// The server's list.
    var mergedNames: MergedNames { fields[MirrorNames.merged].map { MergedNames(of: $0) } ?? MergedNames() }
}

extension RecordMapping {
    /// Returns the superseded records that a record lists.
    package func mergedNames(of record: Record) -> MergedNames {
        guard hasUniqueness, case .string(let text)? = record.fields[MirrorNames.merged]?.value, let entity = entity(of: record),
            isUnique(entity.entity.index)
        else { return MergedNames() }
        return MergedNames(text)
    }
}
