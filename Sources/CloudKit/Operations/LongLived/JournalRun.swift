// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// One time that a kept operation is carried out.
final class JournalRun: Sendable {
    /// Where files of assets that are sent were kept, by the paths that the app gave.
    let copies: [String: URL]
    private let journal: OperationJournal
    /// Nobody listens: what is told is to be kept, failures and downloads included.
    private let isSilent: Bool
    /// Whether the operation may still ask.
    private let mayAsk: @Sendable () -> Bool
    private let position = Locked(0)
    private let missed = Locked(false)

    init(
        _ journal: OperationJournal, copies: [String: URL], isSilent: Bool, while mayAsk: @escaping @Sendable () -> Bool
    ) {
        self.journal = journal
        self.copies = copies
        self.isSilent = isSilent
        self.mayAsk = mayAsk
    }

    private func next() -> Int {
        var number = 0
        position.update { position in
            position += 1
            number = position
        }
        return number
    }

    /// - Throws: ``CKError`` with `.operationCancelled` if the operation has to stop here.
    func checkMayAsk() throws(CKError) {
        guard mayAsk() else { throw CKError(.operationCancelled, "the account that the operation was kept for is not signed in now") }
    }

    func exchange(
        _ asked: TransportRequest, at path: String, _ send: (TransportRequest) async throws -> TransportResponse
    ) async throws -> TransportResponse {
        let number = next()
        if let answer = journal.answer(number) { return try answer.replayed(for: path) }
        var request = asked
        if let kept = journal.request(number) {
            guard kept.path == path else { throw CKError.otherSteps }
            request.body = .bytes(Array(kept.body))
            request.headers = asked.headers.with(HeaderNames.idempotencyKey, kept.idempotencyKey)
        } else if asked.changesData, case .bytes(let body) = asked.body {
            let key = asked.headers[HeaderNames.idempotencyKey]
            do {
                try journal.keep(OperationJournal.Request(path: path, idempotencyKey: key, body: Data(body)), number)
            } catch {
                throw notKept(error)
            }
        }
        do {
            let response = try await send(request)
            // Who listens hears of what may pass, and decides; nobody does where it was waited for as long as may be. What was
            // refused to somebody who gave up meanwhile may have been refused for that.
            let isRefused = response.status >= 400
            if !isRefused || !Task.isCancelled && mayAsk() && (isSilent || !CKError(response).mayPass) {
                journal.keep(
                    .response(
                        path: path, status: response.status, headers: response.headers.all.map { [$0.name, $0.value] },
                        body: Data(response.body)), number)
            }
            return response
        } catch {
            let failure = CKError(transportFailure: error)
            if isSilent, failure.code != .operationCancelled, !Task.isCancelled, mayAsk() {
                journal.keep(.failure(path: path, OperationJournal.Failure(failure)), number)
            }
            throw failure
        }
    }

    /// Sends the file of an asset, unless that was done.
    func upload(_ send: () async throws -> AssetValue) async throws -> AssetValue {
        let number = next()
        switch journal.upload(number) {
        case .failure(let failure): throw failure.error
        case .asset(let data):
            guard case .asset(let asset)? = (try? Field(json: Array(data)))?.value else { throw CKError.otherSteps }
            return asset
        case nil: break
        }
        do {
            let asset = try await send()
            try keep(.asset(Data(Field(.asset(asset)).encoded())), number)
            return asset
        } catch {
            let failure = CKError(transportFailure: error)
            if failure.code != .operationCancelled, !Task.isCancelled, mayAsk(), isSilent || !failure.mayPass {
                try keep(.failure(OperationJournal.Failure(failure)), number)
            }
            throw failure
        }
    }

    private func keep(_ upload: OperationJournal.Upload, _ number: Int) throws(CKError) {
        do { try journal.keep(upload, number) } catch { throw notKept(error) }
    }

    private func notKept(_ error: any Error) -> CKError {
        missed.update { $0 = true }
        return CKError.notKept(error)
    }

    /// Whether something could not be kept, so that the operation stopped without having come to an end.
    var couldNotKeep: Bool { missed.value }

    /// Fetches the content of an asset into a file. What came while nobody listened is kept until somebody does.
    func download(_ asset: AssetValue, to file: URL, _ fetch: () async throws -> Void) async throws {
        let name = "content-" + KeptAssets.name(of: asset)
        let kept = journal.folder.url.appendingPathComponent(name)
        if FileManager.default.fileExists(atPath: kept.path) {
            do { return try FileManager.default.linkOrCopy(kept, to: file) } catch {
                throw CKError(.assetNotAvailable, "the asset could not be written to the disk", cause: error)
            }
        }
        try await fetch()
        if isSilent { try? journal.folder.keep(file, as: name) }
    }
}

extension OperationJournal.Answer {
    fileprivate func replayed(for path: String) throws(CKError) -> TransportResponse {
        switch self {
        case .response(path, let status, let list, let body):
            var headers = TransportHeaders()
            for header in list where header.count == 2 { headers.add(header[0], header[1]) }
            return TransportResponse(status: status, headers: headers, body: Array(body))
        case .failure(path, let failure): throw failure.error
        case .response, .failure: throw CKError.otherSteps
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
    /// Another version of this framework asks other things for the same inputs; what was asked must not be asked in other words.
    fileprivate static let otherSteps = CKError(
        .internalError, "the long-lived operation was begun by another version of this framework, and cannot go on")

    /// What a long-lived operation cannot be kept for.
    static func notKept(_ error: any Error) -> CKError {
        if let error = error as? CKError { return error }
        return CKError(
            .internalError, "the long-lived operation could not be kept on the disk; nothing was asked for it", cause: error)
    }
}
