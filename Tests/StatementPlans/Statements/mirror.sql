DELETE FROM TARN_DELETED
DELETE FROM TARN_INCOMPLETE
DELETE FROM TARN_INCOMPLETE WHERE zone = ?
DELETE FROM TARN_LACKING
DELETE FROM TARN_LACKING WHERE zone = ?
DELETE FROM TARN_LINK
DELETE FROM TARN_LINK WHERE zone = ?
DELETE FROM TARN_LINK WHERE zone = ? AND (tag IS NOT NULL OR stage <> 1)
DELETE FROM TARN_LINK WHERE zone = ? AND stage = 2
DELETE FROM TARN_LINK WHERE zone = ?1 AND +tag IS NULL AND first = ?2
DELETE FROM TARN_LINK WHERE zone = ?1 AND +tag IS NULL AND second = ?2
DELETE FROM TARN_LINK WHERE zone = ?1 AND stage = 2 AND (LENGTH(tag) > LENGTH(?2) OR LENGTH(tag) = LENGTH(?2) AND tag > ?2)
DELETE FROM TARN_LINKRANK
DELETE FROM TARN_MERGED
DELETE FROM TARN_MERGED WHERE zone = ?
DELETE FROM TARN_PARKED
DELETE FROM TARN_PARKED WHERE zone = ?
DELETE FROM TARN_RANK
DELETE FROM TARN_RECORD
DELETE FROM TARN_RECORD WHERE zone = ?
DELETE FROM TARN_RECORD WHERE zone = ? AND (tag IS NOT NULL OR stage <> 1)
DELETE FROM TARN_RECORD WHERE zone = ? AND +isRelocated = 1 AND stage = 3
DELETE FROM TARN_RECORD WHERE zone = ? AND stage = 2
DELETE FROM TARN_RECORD WHERE zone = ? AND stage = 2 AND +isRelocated = 0
DELETE FROM TARN_RECORD WHERE zone = ?1 AND +isRelocated = 1 AND stage = 3 AND (LENGTH(tag) > LENGTH(?2) OR LENGTH(tag) = LENGTH(?2) AND tag > ?2)
DELETE FROM TARN_RECORD WHERE zone = ?1 AND stage = 2 AND (LENGTH(tag) > LENGTH(?2) OR LENGTH(tag) = LENGTH(?2) AND tag > ?2) AND +isRelocated = 0
DELETE FROM TARN_STAGEDASSET
DELETE FROM TARN_STAGEDASSET WHERE zone = ?
DELETE FROM TARN_STAGEDPAGE
DELETE FROM TARN_STAGEDPAGE WHERE zone = ?
DELETE FROM TARN_STATE WHERE key = 'generation'
DELETE FROM TARN_STATE WHERE key = 'isFullFetch'
DELETE FROM TARN_STATE WHERE key = 'token'
DELETE FROM TARN_ZONE WHERE number <> 0
INSERT INTO TARN_OUTBOX (key, body, opened, notes, attempts) SELECT (SELECT value FROM TARN_STATE WHERE key = 'outboxKey'), (SELECT value FROM TARN_STATE WHERE key = 'outboxBody'), (SELECT value FROM TARN_STATE WHERE key = 'outboxOpened'), (SELECT value FROM TARN_STATE WHERE key = 'outboxNotes'), (SELECT value FROM TARN_STATE WHERE key = 'outboxAttempts') WHERE (SELECT value FROM TARN_STATE WHERE key = 'outboxKey') IS NOT NULL
INSERT OR REPLACE INTO TARN_LINK (entities, relationships, first, second, tag, stage, mark, failure, generation, zone, name) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
INSERT OR REPLACE INTO TARN_MERGED (zone, name, successor, isReferenced) SELECT g.zone, g.name, ?3, ((EXISTS (SELECT 1 FROM TARN_PARKED WHERE zone = g.zone AND destination = g.name) OR EXISTS (SELECT 1 FROM TARN_LINK WHERE zone = g.zone AND first = g.name) OR EXISTS (SELECT 1 FROM TARN_LINK WHERE zone = g.zone AND second = g.name)) OR EXISTS (SELECT 1 FROM TARN_LACKING WHERE zone = g.zone AND target = g.name)) FROM (SELECT ?1 AS zone, ?2 AS name) AS g
INSERT OR REPLACE INTO TARN_RECORD (entity, pk, isRelocated, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator, created, parent, share, encrypted, isUnreadable, zone, name) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
SELECT "unique" FROM pragma_index_list('TARN_DELETED') WHERE name = 'sqlite_autoindex_TARN_DELETED_1'
SELECT "unique" FROM pragma_index_list('TARN_EVENT') WHERE name = 'sqlite_autoindex_TARN_EVENT_1'
SELECT "unique" FROM pragma_index_list('TARN_LACKING') WHERE name = 'TARN_LACKING_NAME'
SELECT "unique" FROM pragma_index_list('TARN_LINK') WHERE name = 'TARN_LINK_FIRST'
SELECT "unique" FROM pragma_index_list('TARN_LINK') WHERE name = 'TARN_LINK_QUEUE'
SELECT "unique" FROM pragma_index_list('TARN_LINK') WHERE name = 'TARN_LINK_REFUSED'
SELECT "unique" FROM pragma_index_list('TARN_LINK') WHERE name = 'TARN_LINK_SECOND'
SELECT "unique" FROM pragma_index_list('TARN_LINK') WHERE name = 'sqlite_autoindex_TARN_LINK_1'
SELECT "unique" FROM pragma_index_list('TARN_MERGED') WHERE name = 'TARN_MERGED_SUCCESSOR'
SELECT "unique" FROM pragma_index_list('TARN_OUTBOX') WHERE name = 'sqlite_autoindex_TARN_OUTBOX_1'
SELECT "unique" FROM pragma_index_list('TARN_PARKED') WHERE name = 'TARN_PARKED_DESTINATION'
SELECT "unique" FROM pragma_index_list('TARN_RECORD') WHERE name = 'TARN_RECORD_DELETION'
SELECT "unique" FROM pragma_index_list('TARN_RECORD') WHERE name = 'TARN_RECORD_MISSING'
SELECT "unique" FROM pragma_index_list('TARN_RECORD') WHERE name = 'TARN_RECORD_QUEUE'
SELECT "unique" FROM pragma_index_list('TARN_RECORD') WHERE name = 'TARN_RECORD_REFUSED'
SELECT "unique" FROM pragma_index_list('TARN_RECORD') WHERE name = 'TARN_RECORD_ROW'
SELECT "unique" FROM pragma_index_list('TARN_RECORD') WHERE name = 'sqlite_autoindex_TARN_RECORD_1'
SELECT 1 FROM TARN_LINK WHERE zone = ? LIMIT 1
SELECT 1 FROM TARN_LINK WHERE zone IN (SELECT number FROM TARN_ZONE WHERE number > 0) AND name = ? LIMIT 1
SELECT 1 FROM TARN_MERGED WHERE zone = ? LIMIT 1
SELECT 1 FROM TARN_PARKED WHERE zone = ? LIMIT 1
SELECT 1 FROM TARN_RECORD WHERE entity = ? AND pk = ? AND isRelocated = 0 AND stage <> 2
SELECT 1 FROM TARN_RECORD WHERE stage IN (1, 2) AND failure IS NULL AND zone >= ?1 UNION ALL SELECT 1 FROM TARN_LINK WHERE stage IN (1, 2) AND failure IS NULL AND zone >= ?1 LIMIT 1
SELECT 1 FROM TARN_RECORD WHERE zone = ?1 AND (creator = ?3 OR instr(COALESCE(ancestor, x''), CAST(?3 AS BLOB)) > 0) AND (LENGTH(tag) > LENGTH(?2) OR LENGTH(tag) = LENGTH(?2) AND tag > ?2) LIMIT 1
SELECT 1 FROM TARN_RECORD WHERE zone = ?1 AND ?3 IS NULL AND instr(COALESCE(unapplied, x''), CAST('CD_moveReceipt' AS BLOB)) > 0 AND (LENGTH(tag) > LENGTH(?2) OR LENGTH(tag) = LENGTH(?2) AND tag > ?2) LIMIT 1
SELECT 1 FROM TARN_STAGEDPAGE WHERE zone = ? LIMIT 1
SELECT 1 FROM TARN_STATE WHERE key = ? AND value IS NOT NULL
SELECT 1 FROM TARN_ZONE WHERE number > 0 LIMIT 1
SELECT COUNT(*) FROM TARN_LINK WHERE failure IS NOT NULL
SELECT COUNT(*) FROM TARN_LINK WHERE stage IN (1, 2)
SELECT COUNT(*) FROM TARN_LINK WHERE stage IN (1, 2) AND failure IS NULL AND zone >= ?
SELECT COUNT(*) FROM TARN_RECORD WHERE failure IS NOT NULL
SELECT COUNT(*) FROM TARN_RECORD WHERE stage IN (1, 2)
SELECT COUNT(*) FROM TARN_RECORD WHERE stage IN (1, 2) AND failure IS NULL AND zone >= ?
SELECT COUNT(*), MIN(failure) FROM TARN_LINK WHERE failure IS NOT NULL
SELECT COUNT(*), MIN(failure) FROM TARN_RECORD WHERE failure IS NOT NULL
SELECT DISTINCT source FROM TARN_PARKED WHERE zone = ?
SELECT attempts FROM TARN_OUTBOX ORDER BY number LIMIT 1
SELECT attempts FROM TARN_OUTBOX WHERE key = ? ORDER BY number LIMIT 1
SELECT entity, ancestor, unapplied FROM TARN_RECORD
SELECT entity, pk FROM TARN_RECORD WHERE isRelocated = 0 AND stage <> 2 ORDER BY entity, pk
SELECT entity, pk FROM TARN_RECORD WHERE zone = ? AND isRelocated = 0 AND name IN (SELECT name FROM TARN_RECORD WHERE zone = ?) ORDER BY entity, pk
SELECT entity, pk FROM TARN_RECORD WHERE zone = ? AND isRelocated = 0 AND stage <> 2 ORDER BY entity, pk
SELECT entity, pk FROM TARN_RECORD WHERE zone = ? AND isRelocated = 0 AND tag IS NOT NULL AND stage <> 2 ORDER BY entity, pk
SELECT name FROM TARN_MERGED AS g WHERE zone = ? AND isReferenced = 1 AND (EXISTS (SELECT 1 FROM TARN_PARKED WHERE zone = g.zone AND destination = g.name) OR EXISTS (SELECT 1 FROM TARN_LINK WHERE zone = g.zone AND first = g.name) OR EXISTS (SELECT 1 FROM TARN_LINK WHERE zone = g.zone AND second = g.name)) ORDER BY name
SELECT name FROM TARN_RECORD WHERE zone = ? AND +isRelocated = 0 AND creator <> ?
SELECT name FROM TARN_RECORD WHERE zone = ? AND stage = 3 ORDER BY name
SELECT name FROM TARN_RECORD WHERE zone = ?2 AND (tag IS NOT NULL OR stage = 0) AND generation < ?1 UNION ALL SELECT name FROM TARN_LINK WHERE zone = ?2 AND (tag IS NOT NULL OR stage = 0) AND generation < ?1
SELECT name FROM TARN_RECORD WHERE zone = ?2 AND (tag IS NOT NULL OR stage = 0) AND generation < ?1 UNION ALL SELECT name FROM TARN_LINK WHERE zone = ?2 AND (tag IS NOT NULL OR stage = 0) AND generation < ?1 UNION ALL SELECT name FROM TARN_INCOMPLETE WHERE zone = ?2 AND generation < ?1
SELECT name FROM pragma_index_xinfo('TARN_RECORD_ROW') WHERE key = 1
SELECT name FROM pragma_index_xinfo('sqlite_autoindex_TARN_DELETED_1') WHERE key = 1
SELECT name FROM pragma_index_xinfo('sqlite_autoindex_TARN_EVENT_1') WHERE key = 1
SELECT name FROM pragma_index_xinfo('sqlite_autoindex_TARN_LINK_1') WHERE key = 1
SELECT name FROM pragma_index_xinfo('sqlite_autoindex_TARN_OUTBOX_1') WHERE key = 1
SELECT name FROM pragma_index_xinfo('sqlite_autoindex_TARN_RECORD_1') WHERE key = 1
SELECT name FROM pragma_table_xinfo('TARN_CONFLICT') WHERE pk > 0
SELECT name FROM pragma_table_xinfo('TARN_DELETED') WHERE pk > 0
SELECT name FROM pragma_table_xinfo('TARN_EVENT') WHERE pk > 0
SELECT name FROM pragma_table_xinfo('TARN_INCOMPLETE') WHERE pk > 0
SELECT name FROM pragma_table_xinfo('TARN_LACKING') WHERE pk > 0
SELECT name FROM pragma_table_xinfo('TARN_LINK') WHERE pk > 0
SELECT name FROM pragma_table_xinfo('TARN_LINKRANK') WHERE pk > 0
SELECT name FROM pragma_table_xinfo('TARN_MERGED') WHERE pk > 0
SELECT name FROM pragma_table_xinfo('TARN_PARKED') WHERE pk > 0
SELECT name FROM pragma_table_xinfo('TARN_RANK') WHERE pk > 0
SELECT name FROM pragma_table_xinfo('TARN_STATE') WHERE pk > 0
SELECT name FROM pragma_table_xinfo('TARN_ZONE') WHERE pk > 0
SELECT name, entities, relationships, first, second, tag, stage, mark, failure, generation FROM TARN_LINK WHERE +zone = ? AND failure IS NOT NULL ORDER BY failure
SELECT name, entities, relationships, first, second, tag, stage, mark, failure, generation FROM TARN_LINK WHERE zone = ? AND first = ?
SELECT name, entities, relationships, first, second, tag, stage, mark, failure, generation FROM TARN_LINK WHERE zone = ? AND first = ? AND second = ? AND entities = ? AND relationships = ?
SELECT name, entities, relationships, first, second, tag, stage, mark, failure, generation FROM TARN_LINK WHERE zone = ? AND name = ?
SELECT name, entities, relationships, first, second, tag, stage, mark, failure, generation FROM TARN_LINK WHERE zone = ? AND second = ?
SELECT name, entities, relationships, first, second, tag, stage, mark, failure, generation FROM TARN_LINK WHERE zone = ? AND stage IN (1, 2) AND failure IS NULL ORDER BY mark, TARN_LINK.rowid LIMIT ?
SELECT name, entities, relationships, first, second, tag, stage, mark, failure, generation, firstRank, secondRank FROM TARN_LINK LEFT JOIN TARN_LINKRANK USING (name) WHERE zone = ? AND first = ?
SELECT name, entities, relationships, first, second, tag, stage, mark, failure, generation, firstRank, secondRank FROM TARN_LINK LEFT JOIN TARN_LINKRANK USING (name) WHERE zone = ? AND first = ? AND second = ? AND entities = ? AND relationships = ?
SELECT name, entities, relationships, first, second, tag, stage, mark, failure, generation, firstRank, secondRank FROM TARN_LINK LEFT JOIN TARN_LINKRANK USING (name) WHERE zone = ? AND name = ?
SELECT name, entities, relationships, first, second, tag, stage, mark, failure, generation, firstRank, secondRank FROM TARN_LINK LEFT JOIN TARN_LINKRANK USING (name) WHERE zone = ? AND second = ?
SELECT name, entities, relationships, first, second, tag, stage, mark, failure, generation, firstRank, secondRank FROM TARN_LINK LEFT JOIN TARN_LINKRANK USING (name) WHERE zone = ? AND stage IN (1, 2) AND failure IS NULL ORDER BY mark, TARN_LINK.rowid LIMIT ?
SELECT name, entity, pk, isRelocated, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator, created, parent, share, encrypted FROM TARN_RECORD WHERE +zone = ? AND failure IS NOT NULL ORDER BY failure
SELECT name, entity, pk, isRelocated, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator, created, parent, share, encrypted FROM TARN_RECORD WHERE +zone = ? AND isUnreadable = 1
SELECT name, entity, pk, isRelocated, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator, created, parent, share, encrypted FROM TARN_RECORD WHERE entity = ? AND pk = ? AND isRelocated = 0
SELECT name, entity, pk, isRelocated, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator, created, parent, share, encrypted FROM TARN_RECORD WHERE entity = ? AND pk = ? AND isRelocated = 1
SELECT name, entity, pk, isRelocated, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator, created, parent, share, encrypted FROM TARN_RECORD WHERE entity = ? AND pk BETWEEN ? AND ? AND isRelocated = 0
SELECT name, entity, pk, isRelocated, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator, created, parent, share, encrypted FROM TARN_RECORD WHERE entity = ? AND pk BETWEEN ? AND ? AND isRelocated = 0 AND isRelocated = 0
SELECT name, entity, pk, isRelocated, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator, created, parent, share, encrypted FROM TARN_RECORD WHERE zone = ? AND name = ?
SELECT name, entity, pk, isRelocated, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator, created, parent, share, encrypted FROM TARN_RECORD WHERE zone = ? AND stage = 2 AND failure IS NULL AND (isRelocated = 0 OR NOT EXISTS (SELECT 1 FROM TARN_RECORD m WHERE m.entity = TARN_RECORD.entity AND m.pk = TARN_RECORD.pk AND m.isRelocated = 0 AND m.tag IS NULL)) AND (isRelocated = 1 OR stage <> 2 OR tag IS NULL OR NOT EXISTS (SELECT 1 FROM TARN_RECORD o WHERE o.entity = TARN_RECORD.entity AND o.pk = TARN_RECORD.pk AND o.isRelocated = 1 AND o.tag IS NOT NULL AND +o.stage = 2 AND +o.failure IS NULL)) ORDER BY mark, rowid LIMIT ?
SELECT name, entity, pk, isRelocated, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator, created, parent, share, encrypted FROM TARN_RECORD WHERE zone = ? AND stage IN (1, 2) AND failure IS NULL AND (isRelocated = 0 OR NOT EXISTS (SELECT 1 FROM TARN_RECORD m WHERE m.entity = TARN_RECORD.entity AND m.pk = TARN_RECORD.pk AND m.isRelocated = 0 AND m.tag IS NULL)) AND (isRelocated = 1 OR stage <> 2 OR tag IS NULL OR NOT EXISTS (SELECT 1 FROM TARN_RECORD o WHERE o.entity = TARN_RECORD.entity AND o.pk = TARN_RECORD.pk AND o.isRelocated = 1 AND o.tag IS NOT NULL AND +o.stage = 2 AND +o.failure IS NULL)) ORDER BY mark, rowid LIMIT ?
SELECT name, entity, pk, isRelocated, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator, created, parent, share, encrypted FROM TARN_RECORD WHERE zone = ? AND stage IN (1, 2) AND failure IS NULL AND NOT (stage = 2 AND EXISTS (SELECT 1 FROM TARN_MERGED g JOIN TARN_RECORD s ON s.zone = g.zone AND s.name = g.successor WHERE g.zone = TARN_RECORD.zone AND g.name = TARN_RECORD.name AND s.stage IN (1, 3) AND s.failure IS NULL)) AND (isRelocated = 0 OR NOT EXISTS (SELECT 1 FROM TARN_RECORD m WHERE m.entity = TARN_RECORD.entity AND m.pk = TARN_RECORD.pk AND m.isRelocated = 0 AND m.tag IS NULL)) AND (isRelocated = 1 OR stage <> 2 OR tag IS NULL OR NOT EXISTS (SELECT 1 FROM TARN_RECORD o WHERE o.entity = TARN_RECORD.entity AND o.pk = TARN_RECORD.pk AND o.isRelocated = 1 AND o.tag IS NOT NULL AND +o.stage = 2 AND +o.failure IS NULL)) ORDER BY mark, rowid LIMIT ?
SELECT name, entity, pk, isRelocated, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator, created, parent, share, encrypted FROM TARN_RECORD WHERE zone IN (SELECT number FROM TARN_ZONE) AND name = ? AND isRelocated = 0 LIMIT 1
SELECT name, entity, pk, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator FROM TARN_RECORD WHERE entity = ? AND pk = ? AND isRelocated = 0
SELECT name, entity, pk, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator FROM TARN_RECORD WHERE entity = ? AND pk BETWEEN ? AND ? AND isRelocated = 0 AND isRelocated = 0
SELECT name, entity, pk, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator FROM TARN_RECORD WHERE zone = ? AND name = ?
SELECT name, entity, pk, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator FROM TARN_RECORD WHERE zone = ? AND stage = 2 AND failure IS NULL AND (isRelocated = 0 OR NOT EXISTS (SELECT 1 FROM TARN_RECORD m WHERE m.entity = TARN_RECORD.entity AND m.pk = TARN_RECORD.pk AND m.isRelocated = 0 AND m.tag IS NULL)) AND (isRelocated = 1 OR stage <> 2 OR tag IS NULL OR NOT EXISTS (SELECT 1 FROM TARN_RECORD o WHERE o.entity = TARN_RECORD.entity AND o.pk = TARN_RECORD.pk AND o.isRelocated = 1 AND o.tag IS NOT NULL AND +o.stage = 2 AND +o.failure IS NULL)) ORDER BY mark, rowid LIMIT ?
SELECT name, entity, pk, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator FROM TARN_RECORD WHERE zone = ? AND stage IN (1, 2) AND failure IS NULL AND (isRelocated = 0 OR NOT EXISTS (SELECT 1 FROM TARN_RECORD m WHERE m.entity = TARN_RECORD.entity AND m.pk = TARN_RECORD.pk AND m.isRelocated = 0 AND m.tag IS NULL)) AND (isRelocated = 1 OR stage <> 2 OR tag IS NULL OR NOT EXISTS (SELECT 1 FROM TARN_RECORD o WHERE o.entity = TARN_RECORD.entity AND o.pk = TARN_RECORD.pk AND o.isRelocated = 1 AND o.tag IS NOT NULL AND +o.stage = 2 AND +o.failure IS NULL)) ORDER BY mark, rowid LIMIT ?
SELECT name, entity, pk, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator FROM TARN_RECORD WHERE zone = ? AND stage IN (1, 2) AND failure IS NULL AND NOT (stage = 2 AND EXISTS (SELECT 1 FROM TARN_MERGED g JOIN TARN_RECORD s ON s.zone = g.zone AND s.name = g.successor WHERE g.zone = TARN_RECORD.zone AND g.name = TARN_RECORD.name AND s.stage IN (1, 3) AND s.failure IS NULL)) AND (isRelocated = 0 OR NOT EXISTS (SELECT 1 FROM TARN_RECORD m WHERE m.entity = TARN_RECORD.entity AND m.pk = TARN_RECORD.pk AND m.isRelocated = 0 AND m.tag IS NULL)) AND (isRelocated = 1 OR stage <> 2 OR tag IS NULL OR NOT EXISTS (SELECT 1 FROM TARN_RECORD o WHERE o.entity = TARN_RECORD.entity AND o.pk = TARN_RECORD.pk AND o.isRelocated = 1 AND o.tag IS NOT NULL AND +o.stage = 2 AND +o.failure IS NULL)) ORDER BY mark, rowid LIMIT ?
SELECT name, entity, pk, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator FROM TARN_RECORD WHERE zone IN (SELECT number FROM TARN_ZONE) AND name = ? AND isRelocated = 0 LIMIT 1
SELECT number FROM TARN_ZONE WHERE number > 0 AND listing < ?
SELECT number, name, owner, token, generation, isFullFetch, needsFetch, receives, share, shareGeneration, exportedToken FROM TARN_ZONE WHERE 1 ORDER BY number
SELECT number, name, owner, token, generation, isFullFetch, needsFetch, receives, share, shareGeneration, exportedToken FROM TARN_ZONE WHERE name = ? AND owner = ?
SELECT number, name, owner, token, generation, isFullFetch, needsFetch, receives, share, shareGeneration, exportedToken FROM TARN_ZONE WHERE number = ?
SELECT source, relationship, destination FROM TARN_PARKED WHERE zone = ? AND EXISTS (SELECT 1 FROM TARN_RECORD r WHERE r.zone = ? AND r.name = destination) ORDER BY source, relationship
SELECT source, relationship, destination FROM TARN_PARKED WHERE zone = ? AND destination = ? ORDER BY source, relationship
SELECT source, relationship, destination FROM TARN_PARKED WHERE zone = ? AND source = ? ORDER BY source, relationship
SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = 'TARN_LACKING_NAME'
SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = 'TARN_LINK_FIRST'
SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = 'TARN_LINK_QUEUE'
SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = 'TARN_LINK_REFUSED'
SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = 'TARN_LINK_SECOND'
SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = 'TARN_MERGED_SUCCESSOR'
SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = 'TARN_PARKED_DESTINATION'
SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = 'TARN_RECORD_DELETION'
SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = 'TARN_RECORD_MISSING'
SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = 'TARN_RECORD_QUEUE'
SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = 'TARN_RECORD_REFUSED'
SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = 'TARN_RECORD_ROW'
SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = 'sqlite_autoindex_TARN_DELETED_1'
SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = 'sqlite_autoindex_TARN_EVENT_1'
SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = 'sqlite_autoindex_TARN_LINK_1'
SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = 'sqlite_autoindex_TARN_OUTBOX_1'
SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = 'sqlite_autoindex_TARN_RECORD_1'
UPDATE OR REPLACE TARN_LINK SET entities = ?1, relationships = ?2, first = ?3, second = ?4, tag = ?5, stage = ?6, mark = ?7, failure = ?8, generation = ?9 WHERE zone = ?10 AND name = ?11
UPDATE OR REPLACE TARN_RECORD SET entity = ?1, pk = ?2, isRelocated = ?3, tag = ?4, ancestor = ?5, unapplied = ?6, digests = ?7, stage = ?8, mark = ?9, failure = ?10, generation = ?11, creator = ?12, created = ?13, parent = ?14, share = ?15, encrypted = ?16, isUnreadable = ?17 WHERE zone = ?18 AND name = ?19
UPDATE OR REPLACE TARN_RECORD SET zone = ?, failure = NULL WHERE zone = ?
UPDATE OR REPLACE TARN_RECORD SET zone = ?, name = ? WHERE zone = ? AND name = ?
UPDATE TARN_LINK SET failure = NULL WHERE +zone = ? AND failure IS NOT NULL
UPDATE TARN_LINK SET mark = 1 + COALESCE((SELECT MAX(mark) FROM TARN_LINK WHERE zone = ?1 AND stage IN (1, 2) AND failure IS NULL), mark) WHERE zone = ?1 AND name = ?2
UPDATE TARN_LINK SET stage = 2 WHERE zone = ?1 AND first = ?2
UPDATE TARN_LINK SET stage = 2 WHERE zone = ?1 AND second = ?2
UPDATE TARN_LINK SET stage = CASE WHEN tag IS NULL THEN ?3 ELSE 0 END WHERE zone = ?2 AND name IN (SELECT name FROM TARN_LINK WHERE zone = ?1 AND tag IS NULL AND stage = ?3)
UPDATE TARN_LINK SET tag = ?5, stage = ?6, mark = ?7, failure = ?8, generation = ?9 WHERE zone = ?10 AND name = ?11 AND entities = ?1 AND relationships = ?2 AND first = ?3 AND second = ?4
UPDATE TARN_LINK SET tag = NULL, failure = NULL, stage = 1 WHERE zone = ? AND stage <> 2
UPDATE TARN_LINK SET tag = NULL, stage = 1 WHERE zone = ?1 AND ((LENGTH(tag) > LENGTH(?2) OR LENGTH(tag) = LENGTH(?2) AND tag > ?2) OR tag IS NULL AND stage = 0)
UPDATE TARN_LINK SET tag = NULL, stage = 1, failure = NULL WHERE zone = ?
UPDATE TARN_LINK SET zone = ?, name = ?, tag = '', failure = NULL, generation = 0 WHERE zone = ? AND name = ?
UPDATE TARN_MERGED AS g SET isReferenced = 0 WHERE zone = ? AND isReferenced = 1 AND NOT ((EXISTS (SELECT 1 FROM TARN_PARKED WHERE zone = g.zone AND destination = g.name) OR EXISTS (SELECT 1 FROM TARN_LINK WHERE zone = g.zone AND first = g.name) OR EXISTS (SELECT 1 FROM TARN_LINK WHERE zone = g.zone AND second = g.name)) OR EXISTS (SELECT 1 FROM TARN_LACKING WHERE zone = g.zone AND target = g.name))
UPDATE TARN_MERGED AS g SET isReferenced = 1 WHERE zone = ? AND isReferenced = 0 AND ((EXISTS (SELECT 1 FROM TARN_PARKED WHERE zone = g.zone AND destination = g.name) OR EXISTS (SELECT 1 FROM TARN_LINK WHERE zone = g.zone AND first = g.name) OR EXISTS (SELECT 1 FROM TARN_LINK WHERE zone = g.zone AND second = g.name)) OR EXISTS (SELECT 1 FROM TARN_LACKING WHERE zone = g.zone AND target = g.name))
UPDATE TARN_MERGED AS g SET isReferenced = 1 WHERE zone = ? AND successor = ? AND ((EXISTS (SELECT 1 FROM TARN_PARKED WHERE zone = g.zone AND destination = g.name) OR EXISTS (SELECT 1 FROM TARN_LINK WHERE zone = g.zone AND first = g.name) OR EXISTS (SELECT 1 FROM TARN_LINK WHERE zone = g.zone AND second = g.name)) OR EXISTS (SELECT 1 FROM TARN_LACKING WHERE zone = g.zone AND target = g.name))
UPDATE TARN_RECORD SET created = ? WHERE zone = ? AND name = ? AND tag IS NULL AND created IS NULL
UPDATE TARN_RECORD SET failure = NULL WHERE +zone = ? AND failure IS NOT NULL
UPDATE TARN_RECORD SET mark = 1 + COALESCE((SELECT MAX(mark) FROM TARN_RECORD WHERE zone = ?1 AND stage IN (1, 2) AND failure IS NULL), mark) WHERE zone = ?1 AND name = ?2
UPDATE TARN_RECORD SET stage = 0 WHERE stage = 1
UPDATE TARN_RECORD SET stage = 1 WHERE entity = ? AND pk = ? AND isRelocated = 0 AND stage = 0
UPDATE TARN_RECORD SET tag = ?4, ancestor = ?5, unapplied = ?6, digests = ?7, stage = ?8, mark = ?9, failure = ?10, generation = ?11, creator = ?12, created = ?13, parent = ?14, share = ?15, encrypted = ?16, isUnreadable = ?17 WHERE zone = ?18 AND name = ?19 AND entity = ?1 AND pk = ?2 AND isRelocated = ?3
UPDATE TARN_RECORD SET tag = NULL WHERE zone = ?1 AND stage = 2 AND (LENGTH(tag) > LENGTH(?2) OR LENGTH(tag) = LENGTH(?2) AND tag > ?2) AND +isRelocated = 1
UPDATE TARN_RECORD SET tag = NULL, ancestor = NULL, digests = NULL, failure = NULL, stage = 1 WHERE zone = ? AND stage <> 2
UPDATE TARN_RECORD SET tag = NULL, failure = NULL WHERE zone = ? AND +isRelocated = 1
UPDATE TARN_RECORD SET tag = NULL, stage = 1, ancestor = NULL, digests = NULL WHERE zone = ?1 AND ((LENGTH(tag) > LENGTH(?2) OR LENGTH(tag) = LENGTH(?2) AND tag > ?2) OR tag IS NULL AND stage = 0) AND +isRelocated = 0 AND 1
UPDATE TARN_RECORD SET tag = NULL, stage = 1, ancestor = NULL, digests = NULL WHERE zone = ?1 AND ((LENGTH(tag) > LENGTH(?2) OR LENGTH(tag) = LENGTH(?2) AND tag > ?2) OR tag IS NULL AND stage = 0) AND +isRelocated = 0 AND NOT (instr(COALESCE(unapplied, x''), CAST('CD_moveReceipt' AS BLOB)) > 0)
UPDATE TARN_RECORD SET tag = NULL, stage = 1, failure = NULL, ancestor = NULL, digests = NULL WHERE zone = ? AND +isRelocated = 0 AND 1
UPDATE TARN_RECORD SET zone = ?, name = ?, tag = '', failure = NULL, generation = 0 WHERE zone = ? AND name = ?
UPDATE TARN_RECORD SET zone = ?3, tag = NULL, ancestor = NULL, digests = NULL, failure = NULL, generation = 0, created = NULL, parent = NULL, share = NULL, stage = 1, mark = ?4 WHERE zone = ?1 AND name = ?2
UPDATE TARN_RECORD SET zone = ?3, tag = NULL, ancestor = NULL, digests = NULL, failure = NULL, generation = 0, stage = 1, mark = ?4 WHERE zone = ?1 AND name = ?2
UPDATE TARN_STATE SET value = 'another' WHERE key = 'fingerprint'
UPDATE TARN_STATE SET value = 1 WHERE key = 'format'
UPDATE TARN_STATE SET value = 3 WHERE key = 'format'
UPDATE TARN_STATE SET value = 7 WHERE key = 'format'
UPDATE TARN_STATE SET value = 9 WHERE key = 'format'
UPDATE TARN_STATE SET value = 99 WHERE key = 'format'
UPDATE TARN_STATE SET value = ? WHERE key = 'historyRead'
UPDATE TARN_STATE SET value = NULL WHERE key = 'databaseToken'
UPDATE TARN_ZONE SET exportedToken = ? WHERE number = ?
UPDATE TARN_ZONE SET generation = (SELECT value FROM TARN_STATE WHERE key = 'generation') WHERE number = 0 AND EXISTS (SELECT 1 FROM TARN_STATE WHERE key = 'generation' AND value IS NOT NULL)
UPDATE TARN_ZONE SET isFullFetch = (SELECT value FROM TARN_STATE WHERE key = 'isFullFetch') WHERE number = 0 AND EXISTS (SELECT 1 FROM TARN_STATE WHERE key = 'isFullFetch' AND value IS NOT NULL)
UPDATE TARN_ZONE SET listing = ? WHERE number = ?
UPDATE TARN_ZONE SET needsFetch = ? WHERE number = ?
UPDATE TARN_ZONE SET receives = ? WHERE number = ?
UPDATE TARN_ZONE SET share = ? WHERE number = ?
UPDATE TARN_ZONE SET shareGeneration = ? WHERE number = ?
UPDATE TARN_ZONE SET token = (SELECT value FROM TARN_STATE WHERE key = 'token') WHERE number = 0 AND EXISTS (SELECT 1 FROM TARN_STATE WHERE key = 'token' AND value IS NOT NULL)
UPDATE TARN_ZONE SET token = ? WHERE number = ?
UPDATE TARN_ZONE SET token = NULL, exportedToken = COALESCE(exportedToken, token), generation = generation + 1, isFullFetch = 1, needsFetch = 1 WHERE number = ?
UPDATE TARN_ZONE SET token = NULL, exportedToken = NULL, generation = generation + 1, isFullFetch = 1, needsFetch = 1 WHERE number = ?
