// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
import CloudWire
import Crypto

// What rows of the tables mean, for all storages.

extension RecordTypeSchema {
    /// Adds the row of a field. A system field is stored by its internal name, and has indexes only.
    package mutating func add(_ name: String, indexes: FieldIndexes, _ field: @autoclosure () -> FieldSchema) {
        if let system = QueryKey.SystemField(internalName: name) { systemIndexes[system] = indexes } else { fields[name] = field() }
    }
}

extension SecurityGrants {
    /// Adds the row of a role. A row without a role says that grants were set, also where none is left.
    package mutating func add(role: String, _ permissions: RolePermissions) {
        if !role.isEmpty { byRole[role] = permissions }
    }
}

extension StoredIndex {
    /// - Parameter place: The record up to which the index is built; nil before the first.
    /// - Throws: `StorageFailure` with `.corrupt` for an unknown kind.
    package init(id: Int64, recordType: String, field: String, kind: Int, isBuilt: Bool, builtUpTo place: RecordPlace?) throws {
        guard let kind = RecordIndex.Kind(rawValue: kind) else { throw StorageFailure(.corrupt, "an index has an unknown kind") }
        self.init(id: id, index: RecordIndex(recordType: recordType, field: field, kind: kind), isBuilt: isBuilt, builtUpTo: place)
    }
}

extension [Account] {
    /// Adds a row of an account and one of its devices. Rows of one account are adjacent.
    package mutating func add(name: String, deviceLabel: String?) {
        if last?.name != name { append(Account(name: name, devices: [])) }
        if let deviceLabel { self[count - 1].devices.append(deviceLabel) }
    }
}

extension ServerKey {
    /// The public half of a server-to-server key.
    ///
    /// - Parameter pem: A key on the curve P-256.
    /// - Throws: `StorageFailure` with `.unknownName` for an invalid key.
    package static func publicKey(pem: String) throws -> [UInt8] {
        guard let key = try? P256.Signing.PublicKey(pemRepresentation: pem) else {
            throw StorageFailure(.unknownName, "the file holds no public key on the curve P-256 in PEM")
        }
        return [UInt8](key.x963Representation)
    }
}
