// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation

/// Hashes of entities and properties, by which a store recognizes the model it was made for.
///
/// Inputs are those that Apple documents; the bytes are Tarn's own, since Apple's encoding of them is not public. Stores
/// contain them, so they never change.
///
/// Source: developer.apple.com/documentation/coredata/nsentitydescription/versionhash
package enum VersionHash {
    /// 32 bytes over a list of texts, each with its length, so that different lists have different inputs.
    package static func bytes(of texts: [String]) -> Data {
        var bytes: [UInt8] = []
        for text in texts {
            let length = UInt32(text.utf8.count)
            bytes += (0..<4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * UInt32($0))) }
            bytes += text.utf8
        }
        return Data(SHA256.hash(bytes))
    }

    /// A checksum over the hashes of a model's entities.
    package static func checksum(of hashes: [String: Data]) -> String {
        bytes(of: hashes.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value.base64EncodedString()] }).base64EncodedString()
    }
}
