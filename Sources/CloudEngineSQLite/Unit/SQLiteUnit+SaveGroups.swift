// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import GRDB

extension SQLiteUnit {
    private func place(_ group: StagedGroupKey) -> Arguments { [writtenPart, group.userRecordName, group.deviceID, group.id] }

    func stage(_ request: StagedRequest, at now: Int64) throws {
        try keeping {
            try run(
                "INSERT OR REPLACE INTO staged_requests (part, user, device, save, number, parts, at, size, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                place(request.group) + [request.part, request.parts, now, request.growth, request.body])
        }
    }

    func stagedSizes(of group: StagedGroupKey) throws -> [StagedRequestSize] {
        try rows(
            """
            SELECT number, parts, length(body), size FROM staged_requests
            WHERE part = ? AND user = ? AND device = ? AND save = ? ORDER BY number
            """, place(group)
        ).map { StagedRequestSize(part: $0[0], parts: $0[1], bytes: $0[2], growth: $0[3]) }
    }

    func stagedBody(_ part: Int, of group: StagedGroupKey) throws -> [UInt8]? {
        try rows(
            "SELECT body FROM staged_requests WHERE part = ? AND user = ? AND device = ? AND save = ? AND number = ?", place(group) + [part]
        ).first.map { $0[0] }
    }

    func stagedGroups(ofUser userRecordName: String) throws -> [StagedGroup] {
        try rows(
            """
            SELECT device, save, sum(length(body)), sum(size) FROM staged_requests WHERE part = ? AND user = ?
            GROUP BY device, save ORDER BY max(at), device, save
            """, [writtenPart, userRecordName]
        ).map { StagedGroup(key: StagedGroupKey(userRecordName: userRecordName, deviceID: $0[0], id: $0[1]), bytes: $0[2], growth: $0[3]) }
    }

    func removeStaged(_ group: StagedGroupKey) throws {
        try keeping { try run("DELETE FROM staged_requests WHERE part = ? AND user = ? AND device = ? AND save = ?", place(group)) }
    }
}
