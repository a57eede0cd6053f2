// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import ManagedModel

// Deletions of withheld objects. Such an object has neither a row nor metadata, but links of this device may name it: it was shown when they
// were made. No other device deletes them.

extension ImportPlan.Loaded {
    /// Finds the deletions of a page that delete withheld objects.
    ///
    /// An object that is in another zone, shown or withheld, was relocated: its links follow it. One with unique values may have been merged,
    /// and its links are the survivor's: which one that is, is known at the end of an import.
    ///
    /// - Parameters:
    ///   - withheld: Returns the withheld record of a name in the page's zone.
    ///   - isElsewhere: Whether another zone has a record of a name, shown or withheld.
    package mutating func findDeletedWithheld(
        in page: ImportPage, mapping: RecordMapping, withheld: (String) throws -> Record?, isElsewhere: (String) throws -> Bool
    ) rethrows {
        for name in page.deletions where records[name] == nil {
            guard let record = try withheld(name), let entity = mapping.entity(of: record) else { continue }
            if page.moreComing, mapping.isUnique(entity.entity.index) { continue }
            if try !isElsewhere(name) { deletedWithheld.insert(name) }
        }
    }
}
