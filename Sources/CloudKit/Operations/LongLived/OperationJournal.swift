// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// What a kept operation asked, and what it was answered: by the number of the step, since an operation with the same inputs and
/// the same answers asks the same.
///
/// So an operation that is carried out once more goes through what is known without asking, and tells it all again; the first
/// step without an answer is asked as it was before, with its idempotency key, so that it is done once.
final class OperationJournal: Sendable {
    struct Request: Codable, Sendable {
        var path: String
        var idempotencyKey: String?
        var body: Data
    }

    enum Answer: Codable, Sendable {
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

    /// What became of the file of an asset that was sent.
    enum Upload: Codable, Sendable {
        case asset(Data)
        case failure(Failure)
    }

    private struct State: Sendable {
        var requests: [Int: Request] = [:]
        var answers: [Int: Answer] = [:]
        var uploads: [Int: Upload] = [:]
    }

    let folder: KeptFolder
    private let state: Locked<State>

    /// A new one.
    init(_ folder: KeptFolder) {
        self.folder = folder
        state = Locked(State())
    }

    /// What was kept.
    ///
    /// - Throws: ``KeptFolder/Unreadable``, or what the file system says.
    init(reading folder: KeptFolder) throws {
        self.folder = folder
        var kept = State()
        for name in try folder.names() {
            guard let (kind, number) = Self.step(name), let data = try folder.read(name) else { continue }
            let decoder = PropertyListDecoder()
            do {
                switch kind {
                case .request: kept.requests[number] = try decoder.decode(Request.self, from: data)
                case .answer: kept.answers[number] = try decoder.decode(Answer.self, from: data)
                case .upload: kept.uploads[number] = try decoder.decode(Upload.self, from: data)
                }
            } catch is DecodingError {
                throw KeptFolder.Unreadable()
            }
        }
        // What was sent for a request that was never made is sent again: the server keeps for a while only what nothing names.
        let last = kept.requests.keys.max() ?? 0
        kept.uploads = kept.uploads.filter { $0.key < last }
        state = Locked(kept)
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
    func answer(_ number: Int) -> Answer? { state.value.answers[number] }
    func upload(_ number: Int) -> Upload? { state.value.uploads[number] }

    /// - Throws: What the file system says; the request is not to be sent then.
    func keep(_ request: Request, _ number: Int) throws {
        try folder.write(Self.encoded(request), to: Self.name(.request, number))
        state.update { $0.requests[number] = request }
    }

    /// An answer that cannot be written is asked for again in the next process, with the request's key.
    func keep(_ answer: Answer, _ number: Int) {
        state.update { $0.answers[number] = answer }
        try? folder.write(Self.encoded(answer), to: Self.name(.answer, number))
    }

    /// As important as the request that names the asset, which has to be the same when it is made again.
    func keep(_ upload: Upload, _ number: Int) throws {
        try folder.write(Self.encoded(upload), to: Self.name(.upload, number))
        state.update { $0.uploads[number] = upload }
    }

    private static func encoded(_ value: some Encodable) throws -> Data {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        return try encoder.encode(value)
    }
}
