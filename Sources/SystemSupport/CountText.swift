// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package enum CountText {
    /// `1 record`, `2 records`.
    ///
    /// - Parameter noun: Its plural ends with an s that follows the text.
    package static func text(_ count: some BinaryInteger, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
