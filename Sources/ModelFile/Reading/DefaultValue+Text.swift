// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
package import ManagedModel

extension DefaultValue {
    /// - Returns: nil without a default value, or if a model file cannot hold it.
    package static func text(of attribute: Attribute) -> String? {
        switch (attribute.type, attribute.defaultValue) {
        case (.boolean, .int(let value)): value != 0 ? "YES" : "NO"
        case (.integer16, .int(let value)), (.integer32, .int(let value)), (.integer64, .int(let value)): "\(value)"
        case (.double, .double(let value)) where value.isFinite: "\(value)"
        case (.float, .double(let value)) where Float(value).isFinite && Double(Float(value)) == value: "\(Float(value))"
        case (.decimal, .decimal(let value)) where !value.isNaN: fraction("\(value)")
        case (.string, .string(let value)): value
        case (.date, .date(let value)) where value.isFinite: text(value)
        case (.uuid, .uuid(let value)): value.uuidString
        case (.uri, .url(let value)) where !value.isEmpty: value
        default: nil
        }
    }

    /// A number without a fraction is written without a point.
    package static func text(_ number: Double) -> String { Int64(exactly: number).map { "\($0)" } ?? "\(number)" }

    /// Xcode writes decimal numbers with a point.
    private static func fraction(_ text: String) -> String { text.contains(".") ? text : text + ".0" }
}
