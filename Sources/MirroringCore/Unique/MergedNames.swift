// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import ManagedModel

/// Names of records whose objects were merged into another one, as that one's record says them.
///
/// Whoever hears only that a record is gone learns from it which object is meant now by what still names it. Names are in
/// order, so that all devices write the same.
package struct MergedNames: Hashable, Sendable {
    /// Of more the first in order stay, which are the same on every device.
    package static let countMax = 100
    private static let separator: Character = ":"

    package private(set) var names: Set<String> = []

    package init() {}

    /// What stands in a record.
    package init(_ text: String) {
        for name in text.split(separator: Self.separator) { names.insert(String(name)) }
        cut()
    }

    package init(_ names: some Sequence<String>) { for name in names { insert(name) } }

    /// nil where nothing was merged.
    package var text: String? { names.isEmpty ? nil : names.sorted().joined(separator: String(Self.separator)) }

    package mutating func insert(_ name: String) {
        // Such a name was made by another client, and no link could name it either.
        guard !name.isEmpty, !name.contains(Self.separator) else { return }
        names.insert(name)
        cut()
    }

    package mutating func formUnion(_ others: MergedNames) {
        names.formUnion(others.names)
        cut()
    }

    package mutating func remove(_ name: String) { names.remove(name) }

    private mutating func cut() { if names.count > Self.countMax { names = Set(names.sorted().prefix(Self.countMax)) } }

    /// What two sides made of it, name by name.
    package func merged(with there: MergedNames, since before: MergedNames) -> MergedNames {
        let gone = before.names.subtracting(names).union(before.names.subtracting(there.names))
        return MergedNames(names.union(there.names).subtracting(gone))
    }
}

extension PropertyMapping {
    /// Names that a record says for ``Kind/merged``.
    static func mergedNames(_ content: RemoteContent) -> MergedNames {
        if case .inline(.string(let text)) = content { MergedNames(text) } else { MergedNames() }
    }
}

extension Ancestor {
    /// As the server knows them.
    var mergedNames: MergedNames {
        if case .string(let text)? = fields[MirrorNames.merged]?.value { MergedNames(text) } else { MergedNames() }
    }
}

extension RecordMapping {
    /// Names of records whose objects were merged into that of a record, as it says.
    package func mergedNames(of record: Record) -> MergedNames {
        guard hasUniqueness, case .string(let text)? = record.fields[MirrorNames.merged]?.value, let entity = entity(of: record),
            isUnique(entity.entity.index)
        else { return MergedNames() }
        return MergedNames(text)
    }
}
