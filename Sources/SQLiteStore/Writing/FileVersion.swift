// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The version of a store's file, which changes with every write, of this process or another.
///
/// Source: sqlite.org, "total_changes()" and "PRAGMA data_version".
package struct FileVersion: Hashable, Sendable {
    fileprivate var own: Int64 = 0
    fileprivate var dataVersion: Int64 = 0
}

extension StoreWriter {
    /// Returns the current version, for comparison with one of an earlier transaction, or from earlier in this one.
    package func fileVersion() throws -> FileVersion {
        var version = FileVersion()
        try query("SELECT total_changes()") { version.own = $0.int(0) }
        try query("PRAGMA data_version") { version.dataVersion = $0.int(0) }
        return version
    }
}
