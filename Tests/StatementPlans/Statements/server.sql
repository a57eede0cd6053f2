DELETE FROM answers WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM asset_links WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM client_tokens WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM index_entries WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM kept_assets WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM meta WHERE key = 'history'
DELETE FROM public_subscriptions WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM record_indexes WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM record_parents WHERE part = ? AND zone = ?
DELETE FROM record_references WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM record_versions WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM records WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM share_generations WHERE part = ? AND zone = ?
DELETE FROM share_members WHERE part = ? AND zone = ?
DELETE FROM shared_records WHERE part = ? AND zone = ?
DELETE FROM shared_records WHERE part = ? AND zone = ? AND share = ?
DELETE FROM shares WHERE part = ? AND zone = ?
DELETE FROM staged_requests WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM subscriptions WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM uploads WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
DELETE FROM zones WHERE part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)
INSERT OR REPLACE INTO meta (key, value) VALUES ('history', ?)
SELECT DISTINCT m.user FROM share_members m JOIN shares s ON s.part = m.part AND s.zone = m.zone AND s.name = m.share WHERE m.part = ? AND m.zone = ? AND (m.by_link = 0 OR s.public_permission IN ('READ_ONLY', 'READ_WRITE'))
SELECT change, body FROM records WHERE part = ? AND zone = ? AND change > ? AND change < ? AND deleted = 0 ORDER BY change
SELECT change, body FROM records WHERE part = ? AND zone = ? AND change > ? AND change < ? AND deleted = 0 ORDER BY change DESC
SELECT change, body FROM records WHERE part = ? AND zone = ? AND change > ? AND change < ? AND deleted = 0 ORDER BY change DESC LIMIT ?
SELECT change, body FROM records WHERE part = ? AND zone = ? AND change > ? AND change < ? AND deleted = 0 ORDER BY change LIMIT ?
SELECT change, body FROM records WHERE part = ? AND zone = ? AND change > ? AND change < ? ORDER BY change
SELECT change, body FROM records WHERE part = ? AND zone = ? AND change > ? AND change < ? ORDER BY change DESC
SELECT change, body FROM records WHERE part = ? AND zone = ? AND change > ? AND change < ? ORDER BY change DESC LIMIT ?
SELECT change, body FROM records WHERE part = ? AND zone = ? AND change > ? AND change < ? ORDER BY change LIMIT ?
SELECT count(*) FROM (SELECT 1 FROM records WHERE part = ? AND zone = ? AND change > ? AND change < ? AND deleted = 0 LIMIT ?)
SELECT count(*) FROM (SELECT 1 FROM records WHERE part = ? AND zone = ? AND change > ? AND change < ? LIMIT ?)
SELECT count(*) FROM (SELECT 1 FROM shared_records WHERE part = ? AND zone = ? AND change > ? AND change < ? AND gone = 0 AND share IN (?,?) LIMIT ?)
SELECT e.key, r.change, r.body FROM index_entries e JOIN records r ON r.part = e.part AND r.zone = e.zone AND r.name = e.name WHERE e.part = ? AND e.zone = ? AND e.number = ? AND (e.key, e.name) < (?, ?) AND e.key >= ? ORDER BY e.key DESC, e.name DESC
SELECT e.key, r.change, r.body FROM index_entries e JOIN records r ON r.part = e.part AND r.zone = e.zone AND r.name = e.name WHERE e.part = ? AND e.zone = ? AND e.number = ? AND (e.key, e.name) > (?, ?) AND e.key < ? ORDER BY e.key, e.name
SELECT name, given_name, family_name, email, phone, discoverable, operator FROM accounts ORDER BY name
SELECT name, given_name, family_name, email, phone, discoverable, operator FROM accounts WHERE account = ?
SELECT s.change, s.gone, s.name, r.deleted, r.body FROM shared_records s LEFT JOIN records r ON r.part = s.part AND r.zone = s.zone AND r.name = s.name WHERE s.part = ? AND s.zone = ? AND s.share IN (?) AND s.change > ? AND s.change < ? AND (s.gone = 0 OR NOT EXISTS ( SELECT 1 FROM shared_records o WHERE o.part = s.part AND o.zone = s.zone AND o.name = s.name AND o.gone = 0 AND o.share IN (?))) ORDER BY s.change DESC LIMIT ?
SELECT s.change, s.gone, s.name, r.deleted, r.body FROM shared_records s LEFT JOIN records r ON r.part = s.part AND r.zone = s.zone AND r.name = s.name WHERE s.part = ? AND s.zone = ? AND s.share IN (?) AND s.change > ? AND s.change < ? AND (s.gone = 0 OR NOT EXISTS ( SELECT 1 FROM shared_records o WHERE o.part = s.part AND o.zone = s.zone AND o.name = s.name AND o.gone = 0 AND o.share IN (?))) ORDER BY s.change LIMIT ?
SELECT s.change, s.gone, s.name, r.deleted, r.body FROM shared_records s LEFT JOIN records r ON r.part = s.part AND r.zone = s.zone AND r.name = s.name WHERE s.part = ? AND s.zone = ? AND s.share IN (?) AND s.change > ? AND s.change < ? AND s.gone = 0 AND r.deleted = 0 AND (s.gone = 0 OR NOT EXISTS ( SELECT 1 FROM shared_records o WHERE o.part = s.part AND o.zone = s.zone AND o.name = s.name AND o.gone = 0 AND o.share IN (?))) ORDER BY s.change LIMIT ?
SELECT s.name, s.root, s.public_permission, CASE WHEN m.by_link THEN s.public_permission = 'READ_WRITE' ELSE m.can_write END, m.administrator FROM share_members m INDEXED BY share_members_user CROSS JOIN shares s ON s.part = m.part AND s.zone = m.zone AND s.name = m.share WHERE m.part = ? AND m.zone = ? AND m.user = ? AND (m.by_link = 0 OR s.public_permission IN ('READ_ONLY', 'READ_WRITE')) ORDER BY s.name
SELECT value FROM meta WHERE key = 'history'
SELECT zone, name, change, deleted, floor, reason, record_bytes, asset_bytes FROM zones WHERE part = ? AND change > ? AND zone <> ? ORDER BY change LIMIT ?
SELECT zone, name, change, deleted, floor, reason, record_bytes, asset_bytes FROM zones WHERE part = ? AND deleted = 0 ORDER BY name
SELECT zone, name, change, deleted, floor, reason, record_bytes, asset_bytes FROM zones WHERE part = ? AND name = ?
