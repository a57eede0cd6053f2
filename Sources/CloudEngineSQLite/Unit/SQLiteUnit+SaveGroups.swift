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
                place(request.group) + [request.part, request.parts, now, request.body.count, request.body])
        }
    }

    func stagedSizes(of group: StagedGroupKey) throws -> [(part: Int, parts: Int, bytes: Int)] {
        try rows(
            "SELECT number, parts, size FROM staged_requests WHERE part = ? AND user = ? AND device = ? AND save = ? ORDER BY number", place(group)
        ).map { (part: $0[0], parts: $0[1], bytes: $0[2]) }
    }

    func stagedBody(_ part: Int, of group: StagedGroupKey) throws -> [UInt8]? {
        try rows(
            "SELECT body FROM staged_requests WHERE part = ? AND user = ? AND device = ? AND save = ? AND number = ?", place(group) + [part]
        ).first.map { $0[0] }
    }

    func stagedGroups(ofUser userRecordName: String, device deviceID: String) throws -> [String] {
        try rows(
            "SELECT save FROM staged_requests WHERE part = ? AND user = ? AND device = ? GROUP BY save ORDER BY max(at), save",
            [writtenPart, userRecordName, deviceID]
        ).map { $0[0] }
    }

    func removeStaged(_ group: StagedGroupKey) throws {
        try keeping { try run("DELETE FROM staged_requests WHERE part = ? AND user = ? AND device = ? AND save = ?", place(group)) }
    }
}
