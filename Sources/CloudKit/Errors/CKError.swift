// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// The domain of CloudKit's errors.
public let CKErrorDomain = "CKErrorDomain"
/// With `.partialFailure`: `[AnyHashable: any Error]`, by record, zone or subscription ID.
public let CKPartialErrorsByItemIDKey = "CKPartialErrors"
/// Seconds to wait before a retry, a `Double`.
public let CKErrorRetryAfterKey = "CKRetryAfter"
/// With `.serverRecordChanged`: the record as the server has it.
public let CKRecordChangedErrorServerRecordKey = "ServerRecord"
/// With `.serverRecordChanged`: the record that the client tried to save.
public let CKRecordChangedErrorClientRecordKey = "ClientRecord"
/// With `.serverRecordChanged`: the record as fetched, the common ancestor.
public let CKRecordChangedErrorAncestorRecordKey = "AncestorRecord"
/// With `.zoneNotFound`: true if the user's encryption keys were reset.
public let CKErrorUserDidResetEncryptedDataKey = "CKUserDidResetEncryptedData"

/// An error of CloudKit.
///
/// Source: Apple's documentation of `CKError` and of the keys above; values of the keys as published in the headers'
/// open-source bindings.
public struct CKError: Error, CustomNSError, LocalizedError, Hashable, Sendable {
    /// The domain, ``CKErrorDomain``.
    public static var errorDomain: String { CKErrorDomain }

    /// The error as Foundation sees it; its domain is always ``errorDomain``.
    public let _nsError: NSError

    /// - Parameter _nsError: An error of the domain ``errorDomain`` with a number of ``Code``. Any other traps.
    public init(_nsError: NSError) {
        precondition(
            _nsError.domain == CKErrorDomain && Code(rawValue: _nsError.code) != nil,
            "a CKError is made of an error of CKErrorDomain with one of its codes")
        self._nsError = _nsError
    }

    /// Creates an error with a code. Without a description in `userInfo` it has the code's own.
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        var userInfo = userInfo
        if userInfo[NSLocalizedDescriptionKey] == nil { userInfo[NSLocalizedDescriptionKey] = code.sentence }
        _nsError = NSError(domain: CKErrorDomain, code: code.rawValue, userInfo: userInfo)
    }

    /// Creates an error of this library. The sentence is for developers and names the next step; it has no values and
    /// tokens.
    package init(
        _ code: Code, _ sentence: String, retryAfter: Double? = nil, cause: (any Error)? = nil,
        userInfo: [String: Any] = [:]
    ) {
        var userInfo = userInfo
        userInfo[NSLocalizedDescriptionKey] = sentence
        if let retryAfter = UntrustedNumber.retrySeconds(retryAfter) { userInfo[CKErrorRetryAfterKey] = retryAfter }
        if let cause { userInfo[NSUnderlyingErrorKey] = cause }
        self.init(code, userInfo: userInfo)
    }

    /// The code.
    public var code: Code { Code(rawValue: _nsError.code) ?? .internalError }
    /// The number of the code.
    public var errorCode: Int { _nsError.code }
    /// Details: the keys are the constants with the prefix `CK` and those of `NSError`.
    public var userInfo: [String: Any] { _nsError.userInfo }
    /// The same as ``userInfo``.
    public var errorUserInfo: [String: Any] { _nsError.userInfo }
    /// The sentence of the error.
    public var errorDescription: String? { userInfo[NSLocalizedDescriptionKey] as? String }
    /// The sentence of the error, else that of the code.
    public var localizedDescription: String { errorDescription ?? code.sentence }

    /// Errors of single items, with `.partialFailure`.
    public var partialErrorsByItemID: [AnyHashable: any Error]? {
        userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: any Error]
    }

    /// Seconds to wait before a retry. `nil` if a retry does not help.
    public var retryAfterSeconds: Double? {
        userInfo[CKErrorRetryAfterKey] as? Double ?? (userInfo[CKErrorRetryAfterKey] as? NSNumber)?.doubleValue
    }

    /// With `.serverRecordChanged`: the record as the server has it.
    public var serverRecord: CKRecord? { userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord }
    /// With `.serverRecordChanged`: the record that the client tried to save.
    public var clientRecord: CKRecord? { userInfo[CKRecordChangedErrorClientRecordKey] as? CKRecord }
    /// With `.serverRecordChanged`: the record as fetched, the common ancestor.
    public var ancestorRecord: CKRecord? { userInfo[CKRecordChangedErrorAncestorRecordKey] as? CKRecord }
}

/// `error as? CKError` and `catch let error as CKError` also match an `NSError` of this domain, as on Apple's
/// platforms.
extension CKError: _ObjectiveCBridgeable {
    /// Returns the `NSError`. For the compiler's casts.
    public func _bridgeToObjectiveC() -> NSError { _nsError }

    /// Casts an `NSError`. For the compiler's casts.
    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) {
        _ = _conditionallyBridgeFromObjectiveC(source, result: &result)
    }

    /// Casts an `NSError` if it has this domain and a known code. For the compiler's casts.
    public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) -> Bool {
        guard source.domain == CKErrorDomain, Code(rawValue: source.code) != nil else { return false }
        result = CKError(_nsError: source)
        return true
    }

    /// Casts an `NSError`. For the compiler's casts.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> CKError {
        var result: CKError?
        if let source { _forceBridgeFromObjectiveC(source, result: &result) }
        return result ?? CKError(.internalError)
    }
}

extension CKError: CustomStringConvertible {
    /// The number, the code and the sentence.
    public var description: String { "CKError \(errorCode) (\(code)): \(localizedDescription)" }
}
