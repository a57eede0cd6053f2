// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation

/// A value of an app's own type: of a transformable attribute, or of a transient one without a type.
///
/// Only the queue of its object's context uses it.
package final class BoxedValue: Hashable, @unchecked Sendable {
    // Unchecked: see above; stores read only `data`, while the context waits for them.
    package let value: Any
    /// The encoded value for the store; nil before the first save.
    package var data: Data?

    package init(_ value: Any, data: Data? = nil) {
        self.value = value
        self.data = data
    }

    package static func == (a: BoxedValue, b: BoxedValue) -> Bool {
        if a === b { return true }
        if let a = a.data, let b = b.data, a == b { return true }
        guard let one = a.value as? AnyHashable, let other = b.value as? AnyHashable else { return false }
        return one == other
    }

    package func hash(into hasher: inout Hasher) {
        // Equal values may have been encoded differently, or not yet.
    }
}
