// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

extension FieldType {
    /// The type of a schema's field, or of its elements, such as `TIMESTAMP_LIST`.
    package init?(elementOf schemaType: String) {
        self.init(rawValue: schemaType.hasSuffix("_LIST") ? String(schemaType.dropLast(5)) : schemaType)
    }

    /// The form of a type's values, for problems in editors, commands and imports: empty, or a sentence after a space.
    ///
    /// All of them read these forms.
    package var advice: String {
        switch self {
        case .timestamp: " Write it in UTC, such as 2030-01-02T03:04:05Z or 2030-01-02."
        case .location: " Write degrees north and east, such as 48.137,11.575."
        case .bytes: " Write it in Base64."
        case .asset: " Set files in the console."
        default: ""
        }
    }
}
