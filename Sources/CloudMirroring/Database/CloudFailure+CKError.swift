// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import MirroringCore
import SQLiteStore

extension CloudFailure {
    /// The failure of a sync operation, from any error.
    init(_ error: any Error) {
        switch error {
        case let failure as CloudFailure: self = failure
        case let error as CKError:
            self.init(
                AppErrorCode(rawValue: error.errorCode) ?? .internalError, error.localizedDescription,
                retryAfterSeconds: error.retryAfterSeconds)
            didResetEncryptedData = error.userInfo[CKErrorUserDidResetEncryptedDataKey] != nil
            isHistoryLost = error.userInfo[CKError.historyLostKey] != nil
            isAssetMissing = error.userInfo[CKError.assetMissingKey] != nil
            restoredVersion = (error.userInfo[CKError.restoredChangeTagKey] as? String).flatMap { RestoredVersion(changeTag: $0) }
        case is CancellationError: self.init(.operationCancelled, "the operation was cancelled")
        case let error as StoreError:
            let detail = error.detail.isEmpty ? "" : ": \(error.detail)"
            let code: AppErrorCode =
                switch error.code {
                case .busy: .serviceUnavailable
                case .newerFormat, .incompatibleModel, .migration, .noMapping, .noSourceModel, .notInferable, .modelOfOthers:
                    .incompatibleVersion
                case .conflict, .constraint, .corrupt, .denied, .diskFull, .notFound, .notPermitted, .unsupportedPredicate, .other:
                    .internalError
                }
            self.init(code, "the local store: \(error.summary)\(detail)")
        case let error as WireError: self.init(error)
        default: self.init(.internalError, "something went wrong inside the sync library")
        }
    }
}

extension CKError {
    /// The error of an event.
    init(_ failure: CloudFailure) {
        self.init(Code(rawValue: failure.code.rawValue) ?? .internalError, failure.reason, retryAfter: failure.retryAfter?.seconds)
    }
}
