// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
public import CloudKit
import CloudWire
import Synchronization

/// One device of a test's cloud.
public final class TestDevice: Sendable {
    public let name: String
    /// The container as this device sees it. Each device has its own.
    public let container: CKContainer
    private let cloud: TestCloud
    private let connection: OwnConnection
    private let state = Mutex(State())

    private struct State {
        var account: String?
        var transport: FaultyTransport?
        var isOffline = false
        var longLived: LongLivedHome?
        /// By account.
        var homes: [String: LongLivedHome] = [:]
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

    /// Nil while nobody is signed in.
    public var account: String? { state.withLock { $0.account } }

    /// Signs in, after signing out whoever was signed in, and posts `.CKAccountChanged`.
    public func signIn(to account: String) async throws {
        let transport = FaultyTransport(
            try await cloud.transport(of: name, account: account), cloud.clock, containerIdentifier: cloud.containerIdentifier)
        if isOffline { transport.base.goOffline() }
        let home = home(of: account)
        state.withLock { state in
            state.account = account
            state.transport = transport
            state.longLived = home
        }
        change(to: connected(transport, home))
    }

    /// Signs out, and posts `.CKAccountChanged`. The public database can still be read.
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

    private func connected(_ transport: FaultyTransport, _ home: LongLivedHome) -> Connection {
        Connection(environment: .development, transport: transport, pace: cloud.clock.pace, longLived: home)
    }

    // MARK: Processes

    /// Ends the app's process as a kill does, and starts another one, which uses ``container``: long-lived operations of before
    /// call no block any more, and go on. A request that is on its way is broken off; the server may have seen it.
    ///
    /// Other operations, and objects that the app made, are not ended.
    public func restart() {
        let (before, transport, account) = state.withLock { state in
            defer { state.homes = [:] }
            return (state.homes.values, state.transport, state.account)
        }
        for home in before { home.abandon() }
        guard let transport, let account else { return }
        let home = home(of: account)
        state.withLock { $0.longLived = home }
        connect(to: connected(transport, home))
        home.begin(container)
    }

    /// Waits until the long-lived operations that go on after ``restart()`` are done, or cannot go on.
    public func finishLongLivedOperations() async { await state.withLock { $0.longLived }?.rest() }

    /// The same one for as long as a process lives.
    private func home(of account: String) -> LongLivedHome {
        state.withLock { state in
            let home =
                state.homes[account]
                ?? LongLivedHome(folder: cloud.folder(of: name, account), now: { [clock = cloud.clock] in clock.now })
            state.homes[account] = home
            return home
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
            environment: .development, signedOut: CKError(.notAuthenticated, "nobody is signed in on this device"),
            visitor: visitor, pace: cloud.clock.pace)
    }

    private static let ofProcess = Mutex<ObjectIdentifier?>(nil)

    /// Makes this the device that all containers of the process belong to, `CKContainer.default()` and those of Core
    /// Data's stores included, until another device is. Stores whose options were made with ``container`` stay with it.
    public func useForWholeProcess() {
        Self.ofProcess.withLock { $0 = ObjectIdentifier(self) }
        CKContainer.connect(connection.connection, for: nil)
    }

    // MARK: Faults

    /// Cuts the device off: requests fail with `.networkUnavailable`, and held connections break.
    public func goOffline() {
        state.withLock { state in
            state.isOffline = true
            state.transport?.base.goOffline()
        }
    }

    public func goOnline() {
        state.withLock { state in
            state.isOffline = false
            state.transport?.base.goOnline()
        }
    }

    public var isOffline: Bool { state.withLock { $0.isOffline } }

    /// Lets the next requests of this device fail.
    ///
    /// - Parameters:
    ///   - count: How many requests.
    ///   - operation: Only requests of this kind, such as `records/modify`; nil is for all.
    public func fail(_ fault: TestFault, count: Int = 1, operation: String? = nil) {
        state.withLock { $0.transport }?.add(fault, count: count, operation: operation)
    }

    /// What this device asked for, failed requests included, in order: `records/modify`, `changes/zone` …
    public var requests: [String] { state.withLock { $0.transport }?.base.log ?? [] }
}

/// What can go wrong with a request.
public enum TestFault: Hashable, Sendable {
    /// `.networkUnavailable`; the server saw nothing.
    case unreachable
    /// The request breaks off on the way: `.networkFailure`; the server saw nothing.
    case requestLost
    /// The server did what was asked, and its answer breaks off on the way: `.serverResponseLost` if it was asked to save or
    /// delete, else `.networkFailure`.
    case answerLost
    /// The answer takes a while of the virtual clock.
    case slow(Duration)
    /// `.requestRateLimited`, with the seconds to wait.
    case throttled(retryAfter: Double)
    /// `.serviceUnavailable`, with the seconds to wait.
    case unavailable(retryAfter: Double)
    /// `.quotaExceeded`
    case quotaExceeded
    /// The records to be saved were changed by somebody else just before: `.serverRecordChanged`.
    case conflict
    /// `.changeTokenExpired` for requests that carry a token.
    case tokenExpired
    /// `.notAuthenticated`
    case signedOut
    /// A web page of something between here and the server.
    case webPage
    /// Half of the answer.
    case halfAnswer
}
