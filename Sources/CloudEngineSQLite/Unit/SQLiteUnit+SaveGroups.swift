// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine

/// Staged requests are files; see ``StagedRequests``.
extension SQLiteUnit {
    func stage(_ request: StagedRequest, at now: Int64) throws { try writtenStaged.stage(request, part: writtenPart, at: now) }

    func stagedSizes(of group: StagedGroupKey) -> [StagedRequestSize] { writtenStaged.sizes(of: group, part: writtenPart) }

    func stagedBody(_ part: Int, of group: StagedGroupKey) -> [UInt8]? { writtenStaged.body(part, of: group, part: writtenPart) }

    func stagedGroups(ofUser userRecordName: String) -> [StagedGroup] { writtenStaged.groups(ofUser: userRecordName, part: writtenPart) }

    func removeStaged(_ group: StagedGroupKey) { writtenStaged.remove(group, part: writtenPart) }
}
