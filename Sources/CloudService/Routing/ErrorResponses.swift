// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// Responses to errors, in the form of the offered protocol.
struct ErrorResponses: Sendable {
    let profile: ServiceProfile

    func response(to error: any Error, uuid: String) -> ServiceResponse {
        switch error {
        case let error as WireError: return response(to: error, uuid: uuid)
        case let failure as StorageFailure: return response(to: failure, uuid: uuid)
        case is CancellationError:
            // The client is gone, or does not wait any more. A delay would hold back its other requests.
            return response(to: WireError(.internalError, "the request was cancelled"), uuid: uuid)
        default:
            var response = response(to: WireError(.internalError, "the request could not be carried out"), uuid: uuid)
            response.failure = StorageFailure(.unavailable, "unexpected error of type \(type(of: error))")
            return response
        }
    }

    func response(to error: WireError, uuid: String) -> ServiceResponse {
        var error = error
        error.uuid = uuid
        var form = AnswerForm()
        form.isDocumentedOnly = profile.hasDocumentedMembersOnly
        var response = ServiceResponse.json(error.encoded(as: form), status: error.code.httpStatus, endpoint: "")
        response.errorCode = error.code.rawValue
        if let seconds = error.retryAfter {
            response.headers.append((HeaderNames.retryAfter, String(Int(seconds.rounded(.up)))))
        }
        return response
    }

    func response(to failure: StorageFailure, uuid: String) -> ServiceResponse {
        var response = response(to: Self.wireError(for: failure), uuid: uuid)
        response.failure = failure
        return response
    }

    static func wireError(for failure: StorageFailure) -> WireError {
        switch failure.code {
        case .busy: WireError(.tryAgainLater, "the server is busy", retryAfter: 1)
        case .full: WireError(.tryAgainLater, "the server has no room left", retryAfter: 60)
        case .moved, .arriving: WireError(.tryAgainLater, "the server continues on another database in a moment", retryAfter: 1)
        case .inDoubt:
            // To older clients the server is busy: they retry.
            WireError(
                .tryAgainLater, "the connection to the database was lost during the commit: the request may have been carried out",
                retryAfter: 1, nativeCode: .serverResponseLost)
        case .objectStore: WireError(.tryAgainLater, "the server cannot reach the files of assets", retryAfter: 5)
        case .corrupt, .unavailable, .newerFormat, .inUse, .notWritable, .nameTaken, .unknownName:
            WireError(.internalError, "the server could not read or write its data")
        }
    }
}
