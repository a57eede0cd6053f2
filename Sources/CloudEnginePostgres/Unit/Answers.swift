// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// The tables of answers to requests with idempotency keys, and of requests that wait for the rest of their group.
enum AnswerRows {
    static let tables = [
        """
        CREATE TABLE IF NOT EXISTS answers (
            part bigint NOT NULL, key text COLLATE "C" NOT NULL, fingerprint bigint NOT NULL, at bigint NOT NULL, body bytea NOT NULL,
            PRIMARY KEY (part, key))
        """,
        "CREATE INDEX IF NOT EXISTS answers_by_time ON answers (part, at) WHERE at >= 0",
        """
        CREATE TABLE IF NOT EXISTS staged_requests (
            part bigint NOT NULL, user_name text COLLATE "C" NOT NULL, device text COLLATE "C" NOT NULL, save text COLLATE "C" NOT NULL,
            number bigint NOT NULL, parts bigint NOT NULL, at bigint NOT NULL, size bigint NOT NULL, body bytea NOT NULL,
            PRIMARY KEY (part, user_name, device, save, number))
        """,
    ]

    /// Bodies are what clients sent, in any encoding: they are compared as ASCII with escapes.
    private static func contains(_ text: String) -> String {
        "position(encode(convert_to(\(text), 'UTF8'), 'escape') IN lower(encode(t.body, 'escape'))) > 0"
    }

    static let deleteAnswers = "DELETE FROM answers t WHERE (position($1 IN t.key) > 0 OR \(contains("$2")))"
    static let deleteStaged = "DELETE FROM staged_requests t WHERE \(contains("$1"))"
}

extension PostgresUnit {
    func answer(toKey key: String) throws -> StoredAnswer? {
        let row = try rows("SELECT fingerprint, body FROM answers WHERE part = $1 AND key = $2", [part, key], from: .answers).first
        note(lookUpOf: key, isStored: row != nil)
        return row.map { StoredAnswer(fingerprint: UInt64(bitPattern: $0[0]), body: $0[1]) }
    }

    func remember(_ answer: StoredAnswer, forKey key: String, at now: Int64) throws {
        // Stored bytes are counted without a trigger: the partition's row is locked.
        let replaced: Int64 =
            isKnownAbsent(key)
            ? 0
            : try written(
                "DELETE FROM answers WHERE part = $1 AND key = $2 RETURNING octet_length(key) + octet_length(body)", [part, key],
                changing: .answers
            ).first.map { $0[0] } ?? 0
        try run(
            "INSERT INTO answers (part, key, fingerprint, at, body) VALUES ($1, $2, $3, $4, $5)",
            [part, key, Int64(bitPattern: answer.fingerprint), now, answer.body], changing: .answers)
        change { $0.answerBytes += Int64(key.utf8.count + answer.body.count) - replaced }
        note(answerTo: key)
        expires(after: now)
    }

    func removeAnswers(freeing bytes: Int64, exceptKey key: String?) throws {
        var freed: Int64 = 0
        while freed < bytes {
            let oldest = try rows(
                """
                SELECT key, octet_length(key) + octet_length(body) FROM answers WHERE part = $1 AND at >= 0 AND key <> $2
                ORDER BY at, key LIMIT 64
                """, [part, key ?? ""], from: .answers)
            var removed: [String] = []
            var count: Int64 = 0
            for row in oldest where freed + count < bytes {
                removed.append(row[0])
                count += row[1]
            }
            guard !removed.isEmpty else { return }
            try run("DELETE FROM answers WHERE part = $1 AND key = ANY ($2)", [part] + .texts(removed), changing: .answers)
            freed += count
            change { $0.answerBytes -= count }
        }
    }

    // MARK: Save groups

    private func values(_ group: StagedGroupKey) -> PostgresValues { [part, group.userRecordName, group.deviceID, group.id] }

    func stage(_ request: StagedRequest, at now: Int64) throws {
        try run(
            """
            INSERT INTO staged_requests (part, user_name, device, save, number, parts, at, size, body)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (part, user_name, device, save, number) DO UPDATE
            SET parts = excluded.parts, at = excluded.at, size = excluded.size, body = excluded.body
            """, values(request.group) + [request.part, request.parts, now, request.growth, request.body], changing: .staged)
        expires(after: now)
    }

    func stagedSizes(of group: StagedGroupKey) throws -> [StagedRequestSize] {
        try rows(
            """
            SELECT number, parts, octet_length(body), size FROM staged_requests
            WHERE part = $1 AND user_name = $2 AND device = $3 AND save = $4 ORDER BY number
            """, values(group), from: .staged
        ).map { StagedRequestSize(part: $0[0], parts: $0[1], bytes: $0[2], growth: $0[3]) }
    }

    func stagedBody(_ part: Int, of group: StagedGroupKey) throws -> [UInt8]? {
        try rows(
            "SELECT body FROM staged_requests WHERE part = $1 AND user_name = $2 AND device = $3 AND save = $4 AND number = $5",
            values(group) + [part], from: .staged
        ).first.map { $0[0] }
    }

    func stagedGroups(ofUser userRecordName: String) throws -> [StagedGroup] {
        try rows(
            """
            SELECT device, save, sum(octet_length(body))::bigint, sum(size)::bigint FROM staged_requests
            WHERE part = $1 AND user_name = $2 GROUP BY device, save ORDER BY max(at), device, save
            """, [part, userRecordName], from: .staged
        ).map { StagedGroup(key: StagedGroupKey(userRecordName: userRecordName, deviceID: $0[0], id: $0[1]), bytes: $0[2], growth: $0[3]) }
    }

    func removeStaged(_ group: StagedGroupKey) throws {
        try run(
            "DELETE FROM staged_requests WHERE part = $1 AND user_name = $2 AND device = $3 AND save = $4", values(group), changing: .staged
        )
    }
}
