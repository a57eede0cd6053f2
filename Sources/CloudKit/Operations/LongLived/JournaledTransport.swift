// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// The transport of a persisted operation. Requests with a journaled response are not sent again.
struct JournaledTransport: CloudTransport {
    private let base: any CloudTransport
    private let run: JournaledExecution

    init(_ base: any CloudTransport, _ run: JournaledExecution) {
        self.base = base
        self.run = run
    }

    var linkBase: String { base.linkBase }
    var credential: String? { base.credential }
    var executor: (any TaskExecutor)? { base.executor }
    var needsIdleTimeout: Bool { base.needsIdleTimeout }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        // An asset's upload is one step of the journal, in any number of requests.
        guard case .service(let path) = request.target,
            !path.hasSuffix("/" + ServicePath.Operation.uploadAssets.rawValue)
        else { return try await base.send(request) }
        return try await run.exchange(request, at: path) { try await base.send($0) }
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream { try await base.stream(request) }
}

/// Blocks all requests once the operation must stop. It is below the transport that retries.
struct StoppableTransport: CloudTransport {
    private let base: any CloudTransport
    private let run: JournaledExecution

    init(_ base: any CloudTransport, _ run: JournaledExecution) {
        self.base = base
        self.run = run
    }

    var linkBase: String { base.linkBase }
    var credential: String? { base.credential }
    var executor: (any TaskExecutor)? { base.executor }
    var needsIdleTimeout: Bool { base.needsIdleTimeout }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        try run.checkMayRequest()
        return try await base.send(request)
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream {
        try run.checkMayRequest()
        return try await base.stream(request)
    }
}
