// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The size and the quota of a user's private database: `quota` in the responses of `users/caller` and `users/current`,
/// for clients that request the capability.
package struct QuotaStatus: Hashable, Sendable {
    /// Bytes of the names and values of records.
    package var recordBytes: Int64
    /// Bytes of the files that records refer to.
    package var assetBytes: Int64
    /// `nil` for no limit.
    package var bytesMax: Int64?

    package init(recordBytes: Int64, assetBytes: Int64, bytesMax: Int64? = nil) {
        self.recordBytes = recordBytes
        self.assetBytes = assetBytes
        self.bytesMax = bytesMax
    }

    package var bytes: Int64 { recordBytes + assetBytes }
}

extension QuotaStatus: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        self.init(recordBytes: 0, assetBytes: 0)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "recordBytes": recordBytes = try reader.readCount()
            case "assetBytes": assetBytes = try reader.readCount()
            case "bytesMax": bytesMax = try reader.readCount()
            default: try reader.skipValue()
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("recordBytes", recordBytes)
            writer.member("assetBytes", assetBytes)
            writer.member("bytesMax", bytesMax)
        }
    }
}

/// Response of `users/caller`: an identity, and what only its owner may read.
package struct CallerIdentity: WireMessage {
    package var identity: UserIdentity
    package var quota: QuotaStatus?
    /// For clients that request the capability. A type that isn't listed has the permissions of new types.
    package var permissions: [TypePermissions]?

    package init(identity: UserIdentity, quota: QuotaStatus? = nil, permissions: [TypePermissions]? = nil) {
        self.identity = identity
        self.quota = quota
        self.permissions = permissions
    }

    package init(from reader: inout JSONReader) throws(JSONFault) {
        // The keys of an identity. A copy of the reader reads those that only the caller's has.
        var look = reader
        self.init(identity: try UserIdentity(from: &reader))
        try look.beginObject()
        while let key = try look.nextKey() {
            switch key {
            case "quota": quota = try QuotaStatus(from: &look)
            case "permissions": permissions = try look.readArray()
            default: try look.skipValue()
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            identity.writeMembers(to: &writer)
            writer.member("quota", quota)
            if let permissions { writer.member("permissions", permissions) }
        }
    }
}
