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
    /// Bytes by which the request makes the database larger, as its quota counts them.
    package var growth: Int

    package init(group: StagedGroupKey, part: Int, parts: Int, body: [UInt8], growth: Int) {
        self.group = group
        self.part = part
        self.parts = parts
        self.body = body
        self.growth = growth
    }
}

/// The sizes of a staged request, without its body.
package struct StagedRequestSize: Hashable, Sendable {
    package var part: Int
    package var parts: Int
    /// Bytes of the body.
    package var bytes: Int
    /// See ``StagedRequest/growth``.
    package var growth: Int

    package init(part: Int, parts: Int, bytes: Int, growth: Int) {
        self.part = part
        self.parts = parts
        self.bytes = bytes
        self.growth = growth
    }
}

/// A group that waits for its last request.
package struct StagedGroup: Hashable, Sendable {
    package var key: StagedGroupKey
    /// Bytes of all its bodies.
    package var bytes: Int
    /// Bytes by which its requests make the database larger.
    package var growth: Int

    package init(key: StagedGroupKey, bytes: Int, growth: Int) {
        self.key = key
        self.bytes = bytes
        self.growth = growth
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
