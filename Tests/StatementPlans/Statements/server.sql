DELETE FROM answers WHERE (part, key) IN (SELECT part, key FROM answers WHERE part = ? LIMIT ?)
DELETE FROM answers WHERE part = ?
DELETE FROM answers WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM asset_links WHERE (part, zone, checksum) IN ( SELECT part, zone, checksum FROM asset_links WHERE part = ? AND zone = ? ORDER BY checksum LIMIT ?)
DELETE FROM asset_links WHERE (part, zone, checksum) IN (SELECT part, zone, checksum FROM asset_links WHERE part = ? LIMIT ?)
DELETE FROM asset_links WHERE part = ?
DELETE FROM asset_links WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM assets WHERE (part, checksum) IN (SELECT part, checksum FROM assets WHERE part = ? LIMIT ?)
DELETE FROM assets WHERE part = ?
DELETE FROM change_log WHERE (part, last) IN (SELECT part, last FROM change_log WHERE part = ? LIMIT ?)
DELETE FROM change_log WHERE part = ?
DELETE FROM change_log WHERE part = ? AND last = ?
DELETE FROM change_log WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM change_log_days WHERE (part, day) IN (SELECT part, day FROM change_log_days WHERE part = ? LIMIT ?)
DELETE FROM change_log_days WHERE part = ?
DELETE FROM change_log_days WHERE part = ? AND day = ?
DELETE FROM change_log_days WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM client_tokens WHERE (part, zone, user, device) IN ( SELECT part, zone, user, device FROM client_tokens WHERE part = ? AND zone = ? ORDER BY user, device LIMIT ?)
DELETE FROM client_tokens WHERE (part, zone, user, device) IN (SELECT part, zone, user, device FROM client_tokens WHERE part = ? LIMIT ?)
DELETE FROM client_tokens WHERE part = ?
DELETE FROM client_tokens WHERE part = ? AND zone = ? AND user = ? AND device <> ? AND (SELECT count(*) FROM client_tokens WHERE part = ? AND zone = ? AND user = ?) > ?
DELETE FROM client_tokens WHERE part = ? AND zone = ? AND user = ? AND device = ?
DELETE FROM client_tokens WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM devices WHERE account = ?
DELETE FROM index_entries WHERE (part, zone, number, key, name) IN ( SELECT part, zone, number, key, name FROM index_entries WHERE part = ? AND zone = ? ORDER BY number, key, name LIMIT ?)
DELETE FROM index_entries WHERE (part, zone, number, key, name) IN (SELECT part, zone, number, key, name FROM index_entries WHERE part = ? LIMIT ?)
DELETE FROM index_entries WHERE part = ?
DELETE FROM index_entries WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM kept_assets WHERE (part, checksum) IN (SELECT part, checksum FROM kept_assets WHERE part = ? LIMIT ?)
DELETE FROM kept_assets WHERE part = ?
DELETE FROM kept_assets WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM meta WHERE key = 'history'
DELETE FROM object_parts WHERE part = ?
DELETE FROM partitions WHERE part = ?
DELETE FROM public_subscriptions WHERE (container, environment, type, part, id) IN (SELECT container, environment, type, part, id FROM public_subscriptions WHERE part = ? LIMIT ?)
DELETE FROM public_subscriptions WHERE part = ?
DELETE FROM public_subscriptions WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM record_indexes WHERE (part, type, field, kind) IN (SELECT part, type, field, kind FROM record_indexes WHERE part = ? LIMIT ?)
DELETE FROM record_indexes WHERE part = ?
DELETE FROM record_indexes WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM record_parents WHERE (part, zone, name) IN (SELECT part, zone, name FROM record_parents WHERE part = ? LIMIT ?)
DELETE FROM record_parents WHERE part = ?
DELETE FROM record_parents WHERE part = ? AND zone = ?
DELETE FROM record_references WHERE (part, zone, target, action, source) IN ( SELECT part, zone, target, action, source FROM record_references WHERE part = ? AND zone = ? ORDER BY target, action, source LIMIT ?)
DELETE FROM record_references WHERE (part, zone, target, action, source) IN (SELECT part, zone, target, action, source FROM record_references WHERE part = ? LIMIT ?)
DELETE FROM record_references WHERE part = ?
DELETE FROM record_references WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM record_versions WHERE (rowid) IN (SELECT rowid FROM record_versions WHERE part = ? LIMIT ?)
DELETE FROM record_versions WHERE part = ?
DELETE FROM record_versions WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM records WHERE (part, zone, name) IN (SELECT part, zone, name FROM records WHERE part = ? LIMIT ?)
DELETE FROM records WHERE part = ?
DELETE FROM records WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM restores WHERE (part) IN (SELECT part FROM restores WHERE part = ? LIMIT ?)
DELETE FROM restores WHERE part = ?
DELETE FROM restrictions WHERE container = ? AND environment = ? AND user = ?
DELETE FROM share_generations WHERE (part, zone, user) IN (SELECT part, zone, user FROM share_generations WHERE part = ? LIMIT ?)
DELETE FROM share_generations WHERE part = ?
DELETE FROM share_generations WHERE part = ? AND zone = ?
DELETE FROM share_generations WHERE part = ? AND zone = ? AND user = ?
DELETE FROM share_links WHERE (link) IN (SELECT link FROM share_links WHERE part = ? LIMIT ?)
DELETE FROM share_links WHERE part = ?
DELETE FROM share_members WHERE (part, zone, share, user) IN (SELECT part, zone, share, user FROM share_members WHERE part = ? LIMIT ?)
DELETE FROM share_members WHERE part = ?
DELETE FROM share_members WHERE part = ? AND zone = ?
DELETE FROM share_members WHERE part = ? AND zone = ? AND share = ? AND user = ?
DELETE FROM share_news WHERE (part, user, zone_name) IN (SELECT part, user, zone_name FROM share_news WHERE part = ? LIMIT ?)
DELETE FROM share_news WHERE part = ?
DELETE FROM share_news WHERE part = ? AND user = ? AND zone_name = ?
DELETE FROM shared_records WHERE (part, zone, name, share) IN (SELECT part, zone, name, share FROM shared_records WHERE part = ? LIMIT ?)
DELETE FROM shared_records WHERE part = ?
DELETE FROM shared_records WHERE part = ? AND zone = ?
DELETE FROM shared_records WHERE part = ? AND zone = ? AND share = ?
DELETE FROM shares WHERE (part, zone, name) IN (SELECT part, zone, name FROM shares WHERE part = ? LIMIT ?)
DELETE FROM shares WHERE part = ?
DELETE FROM shares WHERE part = ? AND zone = ?
DELETE FROM subscriptions WHERE (part, id) IN (SELECT part, id FROM subscriptions WHERE part = ? LIMIT ?)
DELETE FROM subscriptions WHERE part = ?
DELETE FROM subscriptions WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM uploads WHERE (part, id) IN (SELECT part, id FROM uploads WHERE part = ? LIMIT ?)
DELETE FROM uploads WHERE part = ?
DELETE FROM uploads WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM user_names WHERE account = ?
DELETE FROM web_sessions WHERE account = ?
DELETE FROM zones WHERE (part, zone) IN (SELECT part, zone FROM zones WHERE part = ? LIMIT ?)
DELETE FROM zones WHERE part = ?
DELETE FROM zones WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
INSERT OR IGNORE INTO change_log_days (part, day) VALUES (?, ?)
INSERT OR IGNORE INTO object_parts (part, number) SELECT part, part FROM partitions WHERE part > (SELECT coalesce(max(part), 0) FROM object_parts)
INSERT OR IGNORE INTO object_parts (part, number) SELECT part, part FROM partitions p WHERE NOT EXISTS (SELECT 1 FROM object_parts o WHERE o.part = p.part)
INSERT OR REPLACE INTO meta (key, value) VALUES ('history', ?)
SELECT 1 FROM accounts WHERE operator = 1 LIMIT 1
SELECT DISTINCT json_extract(CAST(body AS TEXT), '$.query.recordType') FROM subscriptions WHERE part = ?
SELECT DISTINCT m.user FROM share_members m JOIN shares s ON s.part = m.part AND s.zone = m.zone AND s.name = m.share WHERE m.part = ? AND m.zone = ? AND (m.by_link = 0 OR s.public_permission IN ('READ_ONLY', 'READ_WRITE'))
SELECT at, author, device, request, changes FROM change_log WHERE part = ? AND last >= ? ORDER BY last LIMIT 1
SELECT body FROM subscriptions WHERE part = ? AND json_extract(CAST(body AS TEXT), '$.subscriptionType') <> 'query' ORDER BY id
SELECT change, body FROM records WHERE part = ? AND zone = ? AND change > ? AND change < ? AND deleted = 0 ORDER BY change
SELECT change, body FROM records WHERE part = ? AND zone = ? AND change > ? AND change < ? AND deleted = 0 ORDER BY change DESC
SELECT change, body FROM records WHERE part = ? AND zone = ? AND change > ? AND change < ? AND deleted = 0 ORDER BY change DESC LIMIT ?
SELECT change, body FROM records WHERE part = ? AND zone = ? AND change > ? AND change < ? AND deleted = 0 ORDER BY change LIMIT ?
SELECT change, body FROM records WHERE part = ? AND zone = ? AND change > ? AND change < ? ORDER BY change
SELECT change, body FROM records WHERE part = ? AND zone = ? AND change > ? AND change < ? ORDER BY change DESC
SELECT change, body FROM records WHERE part = ? AND zone = ? AND change > ? AND change < ? ORDER BY change DESC LIMIT ?
SELECT change, body FROM records WHERE part = ? AND zone = ? AND change > ? AND change < ? ORDER BY change LIMIT ?
SELECT container, environment, user FROM restrictions WHERE user = ? LIMIT ?
SELECT count(*) FROM (SELECT 1 FROM records WHERE part = ? AND zone = ? AND change > ? AND change < ? AND deleted = 0 LIMIT ?)
SELECT count(*) FROM (SELECT 1 FROM records WHERE part = ? AND zone = ? AND change > ? AND change < ? LIMIT ?)
SELECT count(*) FROM (SELECT 1 FROM shared_records WHERE part = ? AND zone = ? AND change > ? AND change < ? AND gone = 0 AND share IN (?,?) LIMIT ?)
SELECT day, part FROM change_log_days WHERE day <= ?
SELECT e.key, r.change, r.body FROM index_entries e JOIN records r ON r.part = e.part AND r.zone = e.zone AND r.name = e.name WHERE e.part = ? AND e.zone = ? AND e.number = ? AND (e.key, e.name) < (?, ?) AND e.key >= ? ORDER BY e.key DESC, e.name DESC
SELECT e.key, r.change, r.body FROM index_entries e JOIN records r ON r.part = e.part AND r.zone = e.zone AND r.name = e.name WHERE e.part = ? AND e.zone = ? AND e.number = ? AND (e.key, e.name) > (?, ?) AND e.key < ? ORDER BY e.key, e.name
SELECT id FROM subscriptions WHERE part = ?
SELECT last, at FROM change_log WHERE part = ? ORDER BY last LIMIT 1
SELECT last, total FROM change_log WHERE part = ? ORDER BY last LIMIT 1
SELECT max(number) FROM object_parts
SELECT name, given_name, family_name, email, phone, discoverable, operator FROM accounts ORDER BY name
SELECT name, given_name, family_name, email, phone, discoverable, operator FROM accounts WHERE account = ?
SELECT number FROM object_parts WHERE part = ?
SELECT part FROM object_parts WHERE number = ?
SELECT part, user, zone_name FROM share_news WHERE user = ? LIMIT ?
SELECT part, zone, share, user FROM share_members WHERE user = ? LIMIT ?
SELECT part, zone, user FROM share_generations WHERE user = ? LIMIT ?
SELECT part, zone, user, device FROM client_tokens WHERE user = ? LIMIT ?
SELECT s.change, s.gone, s.name, r.deleted, r.body FROM shared_records s LEFT JOIN records r ON r.part = s.part AND r.zone = s.zone AND r.name = s.name WHERE s.part = ? AND s.zone = ? AND s.share IN (?) AND s.change > ? AND s.change < ? AND (s.gone = 0 OR NOT EXISTS ( SELECT 1 FROM shared_records o WHERE o.part = s.part AND o.zone = s.zone AND o.name = s.name AND o.gone = 0 AND o.share IN (?))) ORDER BY s.change DESC LIMIT ?
SELECT s.change, s.gone, s.name, r.deleted, r.body FROM shared_records s LEFT JOIN records r ON r.part = s.part AND r.zone = s.zone AND r.name = s.name WHERE s.part = ? AND s.zone = ? AND s.share IN (?) AND s.change > ? AND s.change < ? AND (s.gone = 0 OR NOT EXISTS ( SELECT 1 FROM shared_records o WHERE o.part = s.part AND o.zone = s.zone AND o.name = s.name AND o.gone = 0 AND o.share IN (?))) ORDER BY s.change LIMIT ?
SELECT s.change, s.gone, s.name, r.deleted, r.body FROM shared_records s LEFT JOIN records r ON r.part = s.part AND r.zone = s.zone AND r.name = s.name WHERE s.part = ? AND s.zone = ? AND s.share IN (?) AND s.change > ? AND s.change < ? AND s.gone = 0 AND r.deleted = 0 AND (s.gone = 0 OR NOT EXISTS ( SELECT 1 FROM shared_records o WHERE o.part = s.part AND o.zone = s.zone AND o.name = s.name AND o.gone = 0 AND o.share IN (?))) ORDER BY s.change LIMIT ?
SELECT s.name, s.root, s.public_permission, CASE WHEN m.by_link THEN s.public_permission = 'READ_WRITE' ELSE m.can_write END, m.administrator FROM share_members m INDEXED BY share_members_user CROSS JOIN shares s ON s.part = m.part AND s.zone = m.zone AND s.name = m.share WHERE m.part = ? AND m.zone = ? AND m.user = ? AND (m.by_link = 0 OR s.public_permission IN ('READ_ONLY', 'READ_WRITE')) ORDER BY s.name
SELECT size FROM assets WHERE part = ? AND checksum = ?
SELECT total, at FROM change_log WHERE part = ? ORDER BY last DESC LIMIT 1
SELECT value FROM meta WHERE key = 'history'
SELECT zone, name, change, deleted, floor, reason, record_bytes, asset_bytes FROM zones WHERE part = ? AND change > ? AND zone <> ? ORDER BY change LIMIT ?
SELECT zone, name, change, deleted, floor, reason, record_bytes, asset_bytes FROM zones WHERE part = ? AND deleted = 0 ORDER BY name
SELECT zone, name, change, deleted, floor, reason, record_bytes, asset_bytes FROM zones WHERE part = ? AND name = ?
UPDATE change_log SET author = ?, device = '' WHERE (part, last) IN ( SELECT part, last FROM change_log WHERE author = ? AND author <> '' LIMIT ?)
