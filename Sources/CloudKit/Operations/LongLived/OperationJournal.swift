// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The requests and responses of a persisted operation, by step number. The steps are deterministic: the same inputs
/// and responses lead to the same requests.
///
/// A later execution replays the journaled responses without requests and delivers them again. The first step without a
/// response is sent with its original idempotency key, so that the server executes it once.
final class OperationJournal: Sendable {
    struct Request: Codable, Sendable {
        var path: String
        var idempotencyKey: String?
        var body: Data
    }

    enum Response: Codable, Sendable {
        case response(path: String, status: Int, headers: [[String]], body: Data)
        case failure(path: String, Failure)
    }

    struct Failure: Codable, Sendable {
        var code: Int
        var sentence: String
        var retryAfter: Double?

        init(_ error: CKError) {
            code = error.errorCode
            sentence = error.localizedDescription
            retryAfter = error.retryAfterSeconds
        }

        var error: CKError { CKError(CKError.Code(rawValue: code) ?? .internalError, sentence, retryAfter: retryAfter) }
    }

    /// The result of an asset's upload.
    enum Upload: Codable, Sendable {
        case asset(Data)
        case failure(Failure)
    }

    private struct State: Sendable {
        var requests: [Int: Request] = [:]
        var responses: [Int: Response] = [:]
        var uploads: [Int: Upload] = [:]
    }

    let folder: PersistedOperationFolder
    private let state: Locked<State>

    /// Creates an empty journal.
    init(_ folder: PersistedOperationFolder) {
        self.folder = folder
        state = Locked(State())
    }

    /// Reads a stored journal.
    ///
    /// - Throws: ``PersistedOperationFolder/Unreadable``, or the error of the file system.
    init(reading folder: PersistedOperationFolder) throws {
        self.folder = folder
        var stored = State()
        for name in try folder.names() {
            guard let (kind, number) = Self.step(name), let data = try folder.read(name) else { continue }
            let decoder = PropertyListDecoder()
            do {
                switch kind {
                case .request: stored.requests[number] = try decoder.decode(Request.self, from: data)
                case .answer: stored.responses[number] = try decoder.decode(Response.self, from: data)
                case .upload: stored.uploads[number] = try decoder.decode(Upload.self, from: data)
                }
            } catch is DecodingError {
                throw PersistedOperationFolder.Unreadable()
            }
        }
        // Uploads after the last request are repeated: the server removes unreferenced assets after a while.
        let last = stored.requests.keys.max() ?? 0
        stored.uploads = stored.uploads.filter { $0.key < last }
        state = Locked(stored)
    }

    private enum Kind: String { case request, answer, upload }

    private static func name(_ kind: Kind, _ number: Int) -> String { "step-\(number).\(kind.rawValue)" }

    private static func step(_ name: String) -> (Kind, Int)? {
        let parts = name.split(separator: ".")
        guard parts.count == 2, let kind = Kind(rawValue: String(parts[1])), parts[0].hasPrefix("step-"),
            let number = Int(parts[0].dropFirst(5))
        else { return nil }
        return (kind, number)
    }

    // MARK: Steps

    func request(_ number: Int) -> Request? { state.value.requests[number] }
    func response(_ number: Int) -> Response? { state.value.responses[number] }
    func upload(_ number: Int) -> Upload? { state.value.uploads[number] }

    /// - Throws: The error of the file system. The request must not be sent then.
    func store(_ request: Request, _ number: Int) throws {
        try folder.write(Self.encoded(request), to: Self.name(.request, number))
        state.update { $0.requests[number] = request }
    }

    /// If the response cannot be written, the next process sends the request again with its key.
    func store(_ response: Response, _ number: Int) {
        state.update { $0.responses[number] = response }
        try? folder.write(Self.encoded(response), to: Self.name(.answer, number))
    }

    /// As important as the request that refers to the asset, which must be the same in a retry.
    func store(_ upload: Upload, _ number: Int) throws {
        try folder.write(Self.encoded(upload), to: Self.name(.upload, number))
        state.update { $0.uploads[number] = upload }
    }

    private static func encoded(_ value: some Encodable) throws -> Data {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        return try encoder.encode(value)
    }
}
