// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A request of a group that waits for the last one.
package struct StagedRequest: Hashable, Sendable {
    package var group: StagedGroupKey
    /// The number of the request in its group.
    package var part: Int
    /// Requests of the group.
    package var parts: Int
    package var body: [UInt8]

    package init(group: StagedGroupKey, part: Int, parts: Int, body: [UInt8]) {
        self.group = group
        self.part = part
        self.parts = parts
        self.body = body
    }
}

/// A group counts for the device that sends it: no other adds to it or executes it.
package struct StagedGroupKey: Hashable, Sendable {
    package var userRecordName: String
    package var deviceID: String
    package var id: String

    package init(userRecordName: String, deviceID: String, id: String) {
        self.userRecordName = userRecordName
        self.deviceID = deviceID
        self.id = id
    }
}

/// Requests that were staged and have changed nothing. They expire after a day.
package protocol SaveGroupWork {
    /// Stores a request in place of the one with its number.
    func stage(_ request: StagedRequest, at now: Int64) throws
    /// Numbers and sizes of the staged requests of a group, in order.
    func stagedSizes(of group: StagedGroupKey) throws -> [(part: Int, parts: Int, bytes: Int)]
    /// The body of a staged request.
    func stagedBody(_ part: Int, of group: StagedGroupKey) throws -> [UInt8]?
    /// Groups of a device with staged requests, the oldest first.
    func stagedGroups(ofUser userRecordName: String, device deviceID: String) throws -> [String]
    func removeStaged(_ group: StagedGroupKey) throws
}
