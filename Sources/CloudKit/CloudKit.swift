// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

@_exported public import Foundation
@_exported public import PredicateKit

// Foundation on Linux has classes of these names that cannot be instantiated. An import of a single declaration takes
// precedence over that of a module, also in files that import Foundation themselves.
@_exported public import class PredicateKit.NSComparisonPredicate
@_exported public import class PredicateKit.NSCompoundPredicate
@_exported public import class PredicateKit.NSExpression
