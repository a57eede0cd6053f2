// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
public import CloudKit
import CloudWire
import Synchronization

/// One device of a test's cloud.
public final class TestDevice: Sendable {
    /// The name of the device.
    public let name: String
    /// The container as this device sees it. Each device has its own object.
    public let container: CKContainer
    private let cloud: TestCloud
    private let connection: OwnConnection
    private let state = Mutex(State())

    private struct State {
        var account: String?
        var transport: FaultyTransport?
        var isOffline = false
        var longLived: LongLivedOperationStore?
        /// By account.
        var operationStores: [String: LongLivedOperationStore] = [:]
    }

    init(_ name: String, in cloud: TestCloud) {
        self.name = name
        self.cloud = cloud
        let visitor = cloud.visitorTransport(of: name)
        connection = OwnConnection(Self.signedOut(visitor, cloud))
        container = CKContainer(identifier: cloud.containerIdentifier, connection: connection)
        state.withLock { $0.transport = visitor }
    }

    // MARK: Account

    /// The signed-in account. `nil` if the device is signed out.
    public var account: String? { state.withLock { $0.account } }

    /// Signs in to an account, after signing out of another one, and posts `.CKAccountChanged`. A new account is
    /// created.
    ///
    /// - Throws: `CKError` if the server is stopped.
    public func signIn(to account: String) async throws {
        let transport = FaultyTransport(
            try await cloud.transport(of: name, account: account), cloud.clock, containerIdentifier: cloud.containerIdentifier)
        if isOffline { transport.base.goOffline() }
        let operationStore = operationStore(of: account)
        state.withLock { state in
            state.account = account
            state.transport = transport
            state.longLived = operationStore
        }
        change(to: connected(transport, operationStore))
    }

    /// Signs out, and posts `.CKAccountChanged`. The public database stays readable.
    public func signOut() {
        let visitor = cloud.visitorTransport(of: name)
        if isOffline { visitor.base.goOffline() }
        state.withLock { state in
            state.account = nil
            state.transport?.base.goOffline()
            state.transport = visitor
            state.longLived = nil
        }
        change(to: Self.signedOut(visitor, cloud))
    }

    private func connected(_ transport: FaultyTransport, _ operationStore: LongLivedOperationStore) -> Connection {
        Connection(environment: .development, transport: transport, clock: cloud.clock.clientClock, longLived: operationStore)
    }

    // MARK: Processes

    /// Ends the app's process as a kill does, and starts another one, which uses ``container``. Long-lived operations
    /// of the earlier process call no more blocks, and resume. Requests in flight are cancelled; the server may have
    /// executed them.
    ///
    /// Other operations, and objects of the app, continue.
    public func restart() {
        let (previousStores, transport, account) = state.withLock { state in
            defer { state.operationStores = [:] }
            return (state.operationStores.values, state.transport, state.account)
        }
        for operationStore in previousStores { operationStore.simulateProcessEnd() }
        guard let transport, let account else { return }
        let operationStore = operationStore(of: account)
        state.withLock { $0.longLived = operationStore }
        connect(to: connected(transport, operationStore))
        operationStore.resumeOperations(container)
    }

    /// Waits until the long-lived operations that resume after ``restart()`` end, or cannot continue.
    public func finishLongLivedOperations() async { await state.withLock { $0.longLived }?.waitUntilIdle() }

    /// The same object for the life of a process.
    private func operationStore(of account: String) -> LongLivedOperationStore {
        state.withLock { state in
            let operationStore =
                state.operationStores[account]
                ?? LongLivedOperationStore(folder: cloud.folder(of: name, account), now: { [clock = cloud.clock] in clock.now })
            state.operationStores[account] = operationStore
            return operationStore
        }
    }

    private func change(to connection: Connection) {
        connect(to: connection)
        NotificationCenter.default.post(name: .CKAccountChanged, object: container)
    }

    private func connect(to connection: Connection) {
        self.connection.change(to: connection)
        if Self.ofProcess.withLock({ $0 }) == ObjectIdentifier(self) { CKContainer.connect(connection, for: nil) }
    }

    private static func signedOut(_ visitor: FaultyTransport, _ cloud: TestCloud) -> Connection {
        Connection(
            environment: .development, signedOut: CKError(.notAuthenticated, "no user is signed in on this device"),
            visitor: visitor, clock: cloud.clock.clientClock)
    }

    private static let ofProcess = Mutex<ObjectIdentifier?>(nil)

    /// Makes this the device of all containers of the process, including `CKContainer.default()` and those of Core
    /// Data's stores, until another device replaces it. Stores with options made from ``container`` keep their device.
    public func useForWholeProcess() {
        Self.ofProcess.withLock { $0 = ObjectIdentifier(self) }
        CKContainer.connect(connection.connection, for: nil)
    }

    // MARK: Faults

    /// Disconnects the device: requests fail with `.networkUnavailable`, and open connections break.
    public func goOffline() {
        state.withLock { state in
            state.isOffline = true
            state.transport?.base.goOffline()
        }
    }

    /// Connects the device again.
    public func goOnline() {
        state.withLock { state in
            state.isOffline = false
            state.transport?.base.goOnline()
        }
    }

    /// Whether the device is offline.
    public var isOffline: Bool { state.withLock { $0.isOffline } }

    /// Makes the next requests of this device fail.
    ///
    /// - Parameters:
    ///   - fault: The fault to inject.
    ///   - count: The number of requests.
    ///   - operation: The kind of requests, such as `records/modify`. `nil` means all.
    public func fail(_ fault: TestFault, count: Int = 1, operation: String? = nil) {
        state.withLock { $0.transport }?.add(fault, count: count, operation: operation)
    }

    /// The requested operations of this device, failed ones included, in order: `records/modify`, `changes/zone` …
    public var requests: [String] { state.withLock { $0.transport }?.base.log ?? [] }
}

/// A fault of a request.
public enum TestFault: Hashable, Sendable {
    /// `.networkUnavailable`; the request does not reach the server.
    case unreachable
    /// The request is lost: `.networkFailure`; it does not reach the server.
    case requestLost
    /// The server executes the request, and the response is lost: `.serverResponseLost` for a request that saves or
    /// deletes, else `.networkFailure`.
    case answerLost
    /// The response is delayed, by the virtual clock.
    case slow(Duration)
    /// `.requestRateLimited`, with the seconds to wait.
    case throttled(retryAfter: Double)
    /// `.serviceUnavailable`, with the seconds to wait.
    case unavailable(retryAfter: Double)
    /// `.quotaExceeded`
    case quotaExceeded
    /// Another client changed the records immediately before the save: `.serverRecordChanged`.
    case conflict
    /// `.changeTokenExpired` for requests with a token.
    case tokenExpired
    /// `.notAuthenticated`
    case signedOut
    /// A web page, as of a captive portal.
    case webPage
    /// The first half of the response.
    case halfAnswer
}
