// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension DatabaseFormat {
    /// Counts the tombstones of all partitions. A partition without any keeps the number that it has.
    static let countTombstones = """
        UPDATE partitions SET tombstones = counted.tombstones FROM (
            SELECT part, count(*) AS tombstones FROM records INDEXED BY records_deleted WHERE deleted = 1 GROUP BY part) AS counted
            WHERE counted.part = partitions.part
        """

    /// Counts the stored tombstones once. From then on units of work add theirs, and a trigger subtracts removed ones, so that no statement
    /// that removes records can forget to. Triggers for added ones would make each insertion of a record slower.
    static let tombstoneCount = """
        ALTER TABLE partitions ADD COLUMN tombstones INTEGER NOT NULL DEFAULT 0;
        \(countTombstones);
        CREATE TRIGGER tombstones_are_removed AFTER DELETE ON records WHEN OLD.deleted = 1 BEGIN
            UPDATE partitions SET tombstones = tombstones - 1 WHERE part = OLD.part;
        END;
        """
}
