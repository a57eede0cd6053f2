// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// The transport of a kept operation: what is answered already is not asked again.
struct JournaledTransport: CloudTransport {
    private let base: any CloudTransport
    private let run: JournalRun

    init(_ base: any CloudTransport, _ run: JournalRun) {
        self.base = base
        self.run = run
    }

    var linkBase: String { base.linkBase }
    var credential: String? { base.credential }
    var executor: (any TaskExecutor)? { base.executor }
    var fallsSilent: Bool { base.fallsSilent }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        // Files of assets have a step of their own each, whatever it takes to send them.
        guard case .service(let path) = request.target,
            !path.hasSuffix("/" + ServicePath.Operation.uploadAssets.rawValue)
        else { return try await base.send(request) }
        return try await run.exchange(request, at: path) { try await base.send($0) }
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream { try await base.stream(request) }
}

/// Lets nothing through once the operation has to stop; below what waits and tries again.
struct StoppableTransport: CloudTransport {
    private let base: any CloudTransport
    private let run: JournalRun

    init(_ base: any CloudTransport, _ run: JournalRun) {
        self.base = base
        self.run = run
    }

    var linkBase: String { base.linkBase }
    var credential: String? { base.credential }
    var executor: (any TaskExecutor)? { base.executor }
    var fallsSilent: Bool { base.fallsSilent }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        try run.checkMayAsk()
        return try await base.send(request)
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream {
        try run.checkMayAsk()
        return try await base.stream(request)
    }
}
