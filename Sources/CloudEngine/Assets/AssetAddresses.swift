// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Makes and reads the addresses of files: where to send one, where to get one. They need no other credential and
/// work for a limited time.
///
/// Path: `/asset/1/{container}/{environment}/{database}/{owner}/{verb}/{file}/{expiry}/{code}`.
struct AssetAddresses {
    private let sealer: Sealer
    private let partition: Partition
    private let baseURL: String
    /// Seconds since 1970 UTC.
    private let expiry: Int64

    init(sealer: Sealer, _ call: Call, secondsValid: Int) {
        self.sealer = sealer
        partition = call.partition
        baseURL = call.baseURL
        expiry = call.now / 1000 + Int64(secondsValid)
    }

    func withDownload(_ asset: AssetValue) -> AssetValue {
        var asset = asset
        asset.downloadURL = address(.download, asset.fileChecksum)
        return asset
    }

    func upload(id: String) -> String { address(.upload, id) }

    private func address(_ verb: AssetPath.Verb, _ file: String) -> String {
        let path = AssetPath(partition: partition, verb: verb, file: file, expiry: expiry)
        return baseURL + path.sealed(by: sealer)
    }
}

/// The path of an asset's address once its code was found right.
package struct AssetPath: Hashable, Sendable {
    package enum Verb: String, Hashable, Sendable { case upload, download }

    package static let prefix = "/asset/1/"

    package var partition: Partition
    package var verb: Verb
    /// Identifier of an upload, or checksum of a file.
    package var file: String
    /// Seconds since 1970 UTC.
    package var expiry: Int64

    init(partition: Partition, verb: Verb, file: String, expiry: Int64) {
        self.partition = partition
        self.verb = verb
        self.file = file
        self.expiry = expiry
    }

    func sealed(by sealer: Sealer) -> String {
        let plain = plain
        return plain + "/" + Hex.text(sealer.code(of: Array(plain.utf8), purpose: .assetAddress))
    }

    /// - Throws: `WireError` with `.notFound` for a path of another form, `.accessDenied` for a wrong code or an
    ///   address that has expired.
    package init(opening path: String, now: Int64, by sealer: Sealer) throws(WireError) {
        guard let end = path.lastIndex(of: "/"), let code = Hex.bytes(path[path.index(after: end)...]) else {
            throw WireError(.notFound, "could not find handler for endpoint")
        }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 11, path.hasPrefix(Self.prefix), let environment = CloudEnvironment(rawValue: parts[4]),
            let scope = DatabaseScope(rawValue: parts[5]), let verb = Verb(rawValue: parts[7]), let expiry = Int64(parts[9])
        else { throw WireError(.notFound, "could not find handler for endpoint") }
        guard sealer.isCode(code, of: Array(path[..<end].utf8), purpose: .assetAddress) else {
            throw WireError(.accessDenied, "the address of the asset is not valid")
        }
        guard now / 1000 < expiry else {
            throw WireError(.accessDenied, "the address of the asset has expired: ask for a new one")
        }
        partition = Partition(containerIdentifier: parts[3], environment: environment, scope: scope, owner: parts[6])
        self.verb = verb
        file = parts[8]
        self.expiry = expiry
    }

    private var plain: String { "\(Self.prefix)\(partition.seed)/\(verb.rawValue)/\(file)/\(expiry)" }
}
