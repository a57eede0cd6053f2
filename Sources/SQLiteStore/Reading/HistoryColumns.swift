// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The columns of a store's history tables, as parts of a SELECT: they depend on the framework version that created the
/// store.
struct HistoryColumns: Sendable {
    /// Author, context name, bundle and process: by reference, or inline as older frameworks wrote them.
    let texts: String
    /// As many as the layout has. A read-only store of Apple's may have fewer.
    let tombstones: String

    /// - Returns: nil for a store that was never opened with history.
    init?(_ connection: Connection, tombstones count: Int) throws(StoreError) {
        let tables = try connection.first(
            "SELECT COUNT(*) FROM sqlite_master WHERE name IN ('ATRANSACTION', 'ACHANGE', 'ATRANSACTIONSTRING')"
        ) { $0.int(0) }
        guard tables == 3 else { return nil }
        let transactions = try connection.columnNames(of: "ATRANSACTION")
        texts = [("a", "ZAUTHOR"), ("c", "ZCONTEXTNAME"), ("b", "ZBUNDLEID"), ("p", "ZPROCESSID")].map { alias, column in
            transactions.contains(column) ? "IFNULL(\(alias).ZNAME, t.\(column))" : "\(alias).ZNAME"
        }.joined(separator: ", ")
        let changes = Set(try connection.columnNames(of: "ACHANGE"))
        tombstones = (0..<count).map { changes.contains("ZTOMBSTONE\($0)") ? ", ZTOMBSTONE\($0)" : ", NULL" }.joined()
    }
}
