// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension DatabaseFormat {
    /// Counts the stored deletions once. From then on triggers count, so that no statement that deletes records can forget to.
    static let deletionCount = """
        ALTER TABLE partitions ADD COLUMN deletions INTEGER NOT NULL DEFAULT 0;
        UPDATE partitions SET deletions = counted.deletions FROM (
            SELECT part, count(*) AS deletions FROM records INDEXED BY records_deleted WHERE deleted = 1 GROUP BY part) AS counted
            WHERE counted.part = partitions.part;
        CREATE TRIGGER deletions_are_added AFTER INSERT ON records WHEN NEW.deleted = 1 BEGIN
            UPDATE partitions SET deletions = deletions + 1 WHERE part = NEW.part;
        END;
        CREATE TRIGGER deletions_are_changed AFTER UPDATE OF deleted ON records WHEN NEW.deleted <> OLD.deleted BEGIN
            UPDATE partitions SET deletions = deletions + NEW.deleted - OLD.deleted WHERE part = NEW.part;
        END;
        CREATE TRIGGER deletions_are_forgotten AFTER DELETE ON records WHEN OLD.deleted = 1 BEGIN
            UPDATE partitions SET deletions = deletions - 1 WHERE part = OLD.part;
        END;
        """
}
