// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import PredicateKit

/// Foundation's predicates and sort descriptors as the trees that stores and the evaluator understand.
enum PredicateBridge {
    static func parsed(_ predicate: NSPredicate) -> PredicateKit.Predicate? { nil }
    static func key(of descriptor: NSSortDescriptor) -> String? { nil }
    static func evaluate(_ predicate: PredicateKit.Predicate, on object: NSManagedObject) -> Bool { false }
}
