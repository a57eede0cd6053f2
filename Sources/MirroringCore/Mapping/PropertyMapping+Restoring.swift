// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import Foundation
package import ManagedModel

extension PropertyMapping {
    /// The attribute value of an entry of the conflict log.
    ///
    /// - Parameter losing: nil when the losing side had cleared the attribute. Contents of assets stand there as bytes.
    /// - Returns: nil for a value that was never fetched, and for a relationship.
    package func restored(_ losing: FieldValue?) -> StoredValue? {
        guard case .attribute(let attribute) = kind else { return nil }
        switch losing {
        case nil: return absentValue
        case .asset: return nil
        case .bytes(let bytes): return FieldCodec.decode(contentsOfAsset: Data(bytes), as: attribute.type)
        case let value?: return FieldCodec.decode(value, as: attribute.type)
        }
    }

    package var isToOne: Bool { if case .toOne = form { true } else { false } }
}

extension EntityMapping {
    package func mapping(of property: String) -> PropertyMapping? { self.property(named: property) }
}
