// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// The lenses for which the rows of a store have values.
///
/// Rows that were written before a lens was declared are filled once: later, an empty attribute is one that the user cleared.
package struct FilledLenses: Hashable, Sendable {
    private let lines: Set<String>

    /// The lenses of a model.
    package init(_ mapping: RecordMapping) { lines = Set(mapping.entities.values.flatMap { $0.lenses.map(\.text) }) }

    /// Lines as they are stored; none for nil.
    package init(text: String?) { lines = Set((text ?? "").split(separator: "\n").map { String($0) }) }

    package var text: String { lines.sorted().joined(separator: "\n") }
    package var isEmpty: Bool { lines.isEmpty }

    /// Returns the concrete entities with lenses that are not listed, and those lenses.
    package func missing(from mapping: RecordMapping) -> [(entity: EntityMapping, lenses: [LensMapping])] {
        mapping.entities.values.compactMap { entity in
            if entity.entity.isAbstract { return nil }
            let new = entity.lenses.filter { !lines.contains($0.text) }
            return new.isEmpty ? nil : (entity, new)
        }
    }
}
