// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// An authenticated request for an operation of a database, with its body.
struct Exchange: Sendable {
    var operation: ServicePath.Operation
    /// The HTTP method, for operations that have two.
    var method: String
    var call: Call
    var body: [UInt8]
    var key: String?
    var credentials: Credentials

    /// The key as it is stored: in the partition of somebody else it is the caller's own all the same.
    var storedKey: String? { call.isParticipant ? key.map { "\(call.caller.userRecordName) \($0)" } : key }

    /// Tells requests apart that carry the same key: FNV-1a over the operation and the body.
    var fingerprint: UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in operation.rawValue.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        for byte in body { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return hash
    }
}
