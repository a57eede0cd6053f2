// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine

/// A failure of an S3-compatible store.
package enum S3Failure: Error, Hashable, Sendable {
    /// No complete response in time, in several attempts.
    case unreachable
    /// - Parameter code: The store's code, such as `AccessDenied`; empty if the response has none.
    case rejected(status: Int, code: String)
    /// A response of another form than the protocol's.
    case unreadable
    /// The prefix of the bucket is not this database's.
    case foreignOwner
    /// The response of an object differs from the stored one.
    case damaged

    /// Codes have letters and digits only; other text of a response reaches no log.
    static func rejected(_ response: S3Response) -> S3Failure {
        let code = S3Document(response.body).text("Error/Code") ?? ""
        let isCode = code.utf8.count <= 64 && code.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        return .rejected(status: response.status, code: isCode ? code : "")
    }

    package var isMissingObject: Bool {
        if case .rejected(404, let code) = self { code != "NoSuchBucket" } else { false }
    }

    /// The failure in a few constant words and the store's code.
    package var cause: String {
        switch self {
        case .unreachable: "no response in time"
        case .rejected(let status, let code): "status \(status)\(code.isEmpty ? "" : ", \(code)")"
        case .unreadable: "a response that is not S3's"
        case .foreignOwner: "the prefix is not this database's"
        case .damaged: "an object differs from the stored file"
        }
    }

    package var storageFailure: StorageFailure {
        switch self {
        case .rejected(507, _), .rejected(_, "QuotaExceeded"): StorageFailure(.full, "the S3 store has no room left: \(cause)")
        case .damaged: StorageFailure(.corrupt, "the S3 store: \(cause)")
        default: StorageFailure(.objectStore, "the S3 store: \(cause)")
        }
    }
}
