// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation
import MirroringCore

extension TarnMirror {
    /// An error of a mirror: of its configuration, of its files, or of the server.
    public struct Failure: Error, Sendable {
        /// The kind of a failure. Numbers below 1000 are those of `CKError.Code`, which the server's errors have.
        public struct Code: RawRepresentable, Hashable, Sendable {
            /// The number.
            public let rawValue: Int
            /// Creates a code from its number.
            public init(rawValue: Int) { self.rawValue = rawValue }

            /// No connection to the server.
            public static let networkUnavailable = Code(rawValue: 3)
            /// The connection broke, timed out, or brought a response that can't be read.
            public static let networkFailure = Code(rawValue: 4)
            /// The store belongs to another container, account or server.
            public static let badContainer = Code(rawValue: 5)
            /// The server can't answer now.
            public static let serviceUnavailable = Code(rawValue: 6)
            /// The token is missing, unknown or expired.
            public static let notAuthenticated = Code(rawValue: 9)
            /// The mirror was stopped.
            public static let operationCancelled = Code(rawValue: 20)
            /// The user's storage on the server is full.
            public static let quotaExceeded = Code(rawValue: 25)
            /// The store has no history tracking or no remote change notifications, isn't an SQLite store, or isn't loaded.
            public static let unsupportedStore = Code(rawValue: 1001)
            /// The model breaks a rule of mirrored models, or has a type that a mirror doesn't support.
            public static let unsupportedModel = Code(rawValue: 1002)
            /// An option can't be used.
            public static let invalidOptions = Code(rawValue: 1003)
            /// The file of the sync metadata can't be opened, read or written.
            public static let metadata = Code(rawValue: 1004)
            /// The mirror was not started.
            public static let notStarted = Code(rawValue: 1005)
            /// A value of the conflict log is of a property that the model lost, or refers to a deleted object.
            public static let unrestorableValue = Code(rawValue: 1006)
        }

        /// The kind of the failure.
        public let code: Code
        /// A sentence for people, with the next step. It contains no value of a field and no token.
        public let reason: String
        /// The time after which the server accepts the next attempt, if it named one.
        public let retryAfter: Duration?

        init(_ code: Code, _ reason: String) {
            self.code = code
            self.reason = reason
            retryAfter = nil
        }

        init(_ failure: CloudFailure) {
            code = Code(rawValue: failure.code.rawValue)
            reason = failure.reason
            retryAfter = failure.retryAfter
        }
    }
}

extension TarnMirror.Failure: LocalizedError {
    /// The reason.
    public var errorDescription: String? { reason }
}

extension CloudFailure {
    /// The failure of a sync operation, from any error.
    init(_ error: any Error) {
        switch error {
        case let failure as CloudFailure: self = failure
        case is CancellationError: self.init(.operationCancelled, "the operation was cancelled")
        case let error as WireError: self.init(error)
        case let error as TarnMirror.Failure: self.init(.internalError, error.reason)
        // The description of an error of Core Data may contain values: its code identifies it.
        case let error as CocoaError: self.init(.internalError, "the local store: Core Data's error \(error.code.rawValue)")
        default:
            let error = error as NSError
            self.init(.internalError, "the local store: \(error.domain) \(error.code)")
        }
    }
}
