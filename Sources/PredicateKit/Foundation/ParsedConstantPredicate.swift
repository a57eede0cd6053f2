// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// TRUEPREDICATE and FALSEPREDICATE of a format.
final class ParsedConstantPredicate: NSPredicate {
    let value: Bool

    override init(value: Bool) {
        self.value = value
        super.init(value: value)
    }

    override var predicateFormat: String { Predicate.value(value).formatDescription }
    override var description: String { Predicate.value(value).formatDescription }

    override func copy(with zone: NSZone? = nil) -> Any { self }
    override func copy() -> Any { self }

    override func isEqual(_ object: Any?) -> Bool { (object as? NSPredicate)?.tree == .value(value) }
    override var hash: Int { value.hashValue }
}
