// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// One execution of a persisted operation.
final class JournaledExecution: Sendable {
    /// The persisted copies of assets to send, by the paths of the app's files.
    let copies: [String: URL]
    private let journal: OperationJournal
    /// No object of the app receives the results, so failures and downloads are stored as well.
    private let isSilent: Bool
    /// Whether the operation may send requests.
    private let mayRequest: @Sendable () -> Bool
    private let position = Locked(0)
    private let missed = Locked(false)

    init(
        _ journal: OperationJournal, copies: [String: URL], isSilent: Bool, while mayRequest: @escaping @Sendable () -> Bool
    ) {
        self.journal = journal
        self.copies = copies
        self.isSilent = isSilent
        self.mayRequest = mayRequest
    }

    private func next() -> Int {
        var number = 0
        position.update { position in
            position += 1
            number = position
        }
        return number
    }

    /// - Throws: ``CKError`` with `.operationCancelled` if the operation must stop.
    func checkMayRequest() throws(CKError) {
        guard mayRequest() else { throw CKError(.operationCancelled, "the operation belongs to an account that isn't signed in") }
    }

    func exchange(
        _ original: TransportRequest, at path: String, _ send: (TransportRequest) async throws -> TransportResponse
    ) async throws -> TransportResponse {
        let number = next()
        if let response = journal.response(number) { return try response.replayed(for: path) }
        var request = original
        if let journaled = journal.request(number) {
            guard journaled.path == path else { throw CKError.stepsDiffer }
            request.body = .bytes(Array(journaled.body))
            request.headers = original.headers.with(HeaderNames.idempotencyKey, journaled.idempotencyKey)
        } else if original.changesData, case .bytes(let body) = original.body {
            let key = original.headers[HeaderNames.idempotencyKey]
            do {
                try journal.store(OperationJournal.Request(path: path, idempotencyKey: key, body: Data(body)), number)
            } catch {
                throw notPersisted(error)
            }
        }
        do {
            let response = try await send(request)
            // With a listening app, transient failures are the app's to handle and not stored. A silent execution
            // stores them after its retries. A rejection after a cancellation may result from it, so it is not stored.
            let isRefused = response.status >= 400
            if !isRefused || !Task.isCancelled && mayRequest() && (isSilent || !CKError(response).mayPass) {
                journal.store(
                    .response(
                        path: path, status: response.status, headers: response.headers.all.map { [$0.name, $0.value] },
                        body: Data(response.body)), number)
            }
            return response
        } catch {
            let failure = CKError(transportFailure: error)
            if isSilent, failure.code != .operationCancelled, !Task.isCancelled, mayRequest() {
                journal.store(.failure(path: path, OperationJournal.Failure(failure)), number)
            }
            throw failure
        }
    }

    /// Uploads the file of an asset, unless an earlier execution did.
    func upload(_ send: () async throws -> AssetValue) async throws -> AssetValue {
        let number = next()
        switch journal.upload(number) {
        case .failure(let failure): throw failure.error
        case .asset(let data):
            guard case .asset(let asset)? = (try? Field(json: Array(data)))?.value else { throw CKError.stepsDiffer }
            return asset
        case nil: break
        }
        do {
            let asset = try await send()
            try store(.asset(Data(Field(.asset(asset)).encoded())), number)
            return asset
        } catch {
            let failure = CKError(transportFailure: error)
            if failure.code != .operationCancelled, !Task.isCancelled, mayRequest(), isSilent || !failure.mayPass {
                try store(.failure(OperationJournal.Failure(failure)), number)
            }
            throw failure
        }
    }

    private func store(_ upload: OperationJournal.Upload, _ number: Int) throws(CKError) {
        do { try journal.store(upload, number) } catch { throw notPersisted(error) }
    }

    private func notPersisted(_ error: any Error) -> CKError {
        missed.update { $0 = true }
        return CKError.notPersisted(error)
    }

    /// Whether the journal could not be written, so that the operation stopped before its end.
    var journalFailed: Bool { missed.value }

    /// Downloads the content of an asset into a file. A silent execution stores it for a later listener.
    func download(_ asset: AssetValue, to file: URL, _ fetch: () async throws -> Void) async throws {
        let name = "content-" + PersistedAssets.name(of: asset)
        let storedFile = journal.folder.url.appendingPathComponent(name)
        if FileManager.default.fileExists(atPath: storedFile.path) {
            do { return try FileManager.default.linkOrCopy(storedFile, to: file) } catch {
                throw CKError(.assetNotAvailable, "the asset could not be written to the disk", cause: error)
            }
        }
        try await fetch()
        if isSilent { try? journal.folder.add(file, as: name) }
    }
}

extension OperationJournal.Response {
    fileprivate func replayed(for path: String) throws(CKError) -> TransportResponse {
        switch self {
        case .response(path, let status, let list, let body):
            var headers = TransportHeaders()
            for header in list where header.count == 2 { headers.add(header[0], header[1]) }
            return TransportResponse(status: status, headers: headers, body: Array(body))
        case .failure(path, let failure): throw failure.error
        case .response, .failure: throw CKError.stepsDiffer
        }
    }
}

extension TransportHeaders {
    fileprivate func with(_ name: String, _ value: String?) -> TransportHeaders {
        var headers = TransportHeaders()
        for header in all where header.name.lowercased() != name.lowercased() { headers.add(header.name, header.value) }
        if let value { headers.add(name, value) }
        return headers
    }
}

extension FileManager {
    fileprivate func linkOrCopy(_ file: URL, to target: URL) throws {
        do { try linkItem(at: file, to: target) } catch { try copyItem(at: file, to: target) }
    }
}

extension CKError {
    /// Another version of this framework sends other requests for the same inputs. An idempotency key must not be
    /// reused with another request.
    fileprivate static let stepsDiffer = CKError(
        .internalError, "the long-lived operation was started by another version of this framework and cannot be resumed")

    /// Creates the error of a long-lived operation that cannot be persisted.
    static func notPersisted(_ error: any Error) -> CKError {
        if let error = error as? CKError { return error }
        return CKError(
            .internalError, "the long-lived operation could not be stored on the disk; no request was sent", cause: error)
    }
}
