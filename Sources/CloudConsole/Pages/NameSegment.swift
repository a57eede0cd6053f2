// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService

/// Names of records and zones in paths.
///
/// Browsers and proxies remove the segments `.` and `..`, also if they are percent-encoded. These names get a `~` in front, and so do
/// names of this form, so that each name has one segment: `..` is `~..`, and `~..` is `~~..`. `console-changes.js` has the same rule.
enum NameSegment {
    static func encode(_ name: String) -> String { (needsMark(name) ? "~" : "") + QueryItems.encode(name) }

    /// The name of a segment without percent signs.
    static func name(_ segment: String) -> String {
        segment.first == "~" && needsMark(segment) ? String(segment.dropFirst()) : segment
    }

    private static func needsMark(_ name: String) -> Bool { [".", ".."].contains(name.drop { $0 == "~" }) }
}
