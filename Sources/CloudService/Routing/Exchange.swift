// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import SystemSupport

/// An authenticated request for an operation of a database, with its body.
struct Exchange: Sendable {
    var operation: ServicePath.Operation
    /// The HTTP method, for operations that have two.
    var method: String
    var call: Call
    var body: [UInt8]
    var key: String?
    var credentials: Credentials
    /// The items of the address, and the requested range, for operations that send files.
    var query = QueryItems("")
    var range: String?

    /// The key as it is stored. In a partition that several users write to, each has keys of their own.
    var storedKey: String? {
        call.isParticipant || call.partition.scope == .public ? key.map { "\(call.caller.userRecordName) \($0)" } : key
    }

    /// Distinguishes requests that carry the same key: the operation and the body.
    var fingerprint: UInt64 {
        var fingerprint = Fingerprint(operation.rawValue.utf8)
        fingerprint.combine(body)
        return fingerprint.value
    }
}
