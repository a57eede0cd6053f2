// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

public let CKErrorDomain = "CKErrorDomain"
/// With `.partialFailure`: `[AnyHashable: any Error]`, by record, zone or subscription ID.
public let CKPartialErrorsByItemIDKey = "CKPartialErrors"
/// Seconds to wait before trying again, a `Double`.
public let CKErrorRetryAfterKey = "CKRetryAfter"
/// With `.serverRecordChanged`: the record as the server has it.
public let CKRecordChangedErrorServerRecordKey = "ServerRecord"
/// With `.serverRecordChanged`: the record that was to be saved.
public let CKRecordChangedErrorClientRecordKey = "ClientRecord"
/// With `.serverRecordChanged`: the record as it was fetched, before it was changed here.
public let CKRecordChangedErrorAncestorRecordKey = "AncestorRecord"
/// With `.zoneNotFound`: true if the user's encryption keys were reset.
public let CKErrorUserDidResetEncryptedDataKey = "CKUserDidResetEncryptedData"

/// What CloudKit throws.
///
/// Source: Apple's documentation of `CKError` and of the keys above; values of the keys as published in the headers'
/// open-source bindings.
public struct CKError: Error, CustomNSError, LocalizedError, Hashable, Sendable {
    public static var errorDomain: String { CKErrorDomain }

    /// The error as Foundation sees it; its domain is always ``errorDomain``.
    public let _nsError: NSError

    /// - Parameter _nsError: Of the domain ``errorDomain``, with a number that ``Code`` knows.
    public init(_nsError: NSError) {
        precondition(
            _nsError.domain == CKErrorDomain && Code(rawValue: _nsError.code) != nil,
            "a CKError is made of an error of CKErrorDomain with one of its codes")
        self._nsError = _nsError
    }

    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        var userInfo = userInfo
        if userInfo[NSLocalizedDescriptionKey] == nil { userInfo[NSLocalizedDescriptionKey] = code.sentence }
        _nsError = NSError(domain: CKErrorDomain, code: code.rawValue, userInfo: userInfo)
    }

    /// An error of this library: a sentence for developers that says what to do, without values and tokens.
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

    public var code: Code { Code(rawValue: _nsError.code) ?? .internalError }
    public var errorCode: Int { _nsError.code }
    public var userInfo: [String: Any] { _nsError.userInfo }
    public var errorUserInfo: [String: Any] { _nsError.userInfo }
    public var errorDescription: String? { userInfo[NSLocalizedDescriptionKey] as? String }
    public var localizedDescription: String { errorDescription ?? code.sentence }

    /// Errors of single items, with `.partialFailure`.
    public var partialErrorsByItemID: [AnyHashable: any Error]? {
        userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: any Error]
    }

    /// Seconds to wait before trying again; nil means that trying again does not help.
    public var retryAfterSeconds: Double? {
        userInfo[CKErrorRetryAfterKey] as? Double ?? (userInfo[CKErrorRetryAfterKey] as? NSNumber)?.doubleValue
    }

    public var serverRecord: CKRecord? { userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord }
    public var clientRecord: CKRecord? { userInfo[CKRecordChangedErrorClientRecordKey] as? CKRecord }
    public var ancestorRecord: CKRecord? { userInfo[CKRecordChangedErrorAncestorRecordKey] as? CKRecord }
}

/// `error as? CKError` and `catch let error as CKError` also find errors that came as an `NSError` of this domain, as they do
/// on Apple's platforms.
extension CKError: _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSError { _nsError }

    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) {
        _ = _conditionallyBridgeFromObjectiveC(source, result: &result)
    }

    public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) -> Bool {
        guard source.domain == CKErrorDomain, Code(rawValue: source.code) != nil else { return false }
        result = CKError(_nsError: source)
        return true
    }

    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> CKError {
        var result: CKError?
        if let source { _forceBridgeFromObjectiveC(source, result: &result) }
        return result ?? CKError(.internalError)
    }
}

extension CKError: CustomStringConvertible {
    public var description: String { "CKError \(errorCode) (\(code)): \(localizedDescription)" }
}
