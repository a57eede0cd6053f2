// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudWire
import SystemSupport

/// The server without its sockets: answers requests on values.
///
/// It authenticates, decodes, calls the engine inside a unit of work, and publishes notifications after the commit.
/// The HTTP server and the transport of tests call the same function.
package struct CloudService: Sendable {
    /// What varies from run to run.
    package struct Surroundings: Sendable {
        /// Milliseconds since 1970 UTC.
        package var now: @Sendable () -> Int64
        /// Unpredictable bytes.
        package var randomBytes: @Sendable (Int) -> [UInt8]

        package init(now: @escaping @Sendable () -> Int64, randomBytes: @escaping @Sendable (Int) -> [UInt8]) {
            self.now = now
            self.randomBytes = randomBytes
        }

        /// A version 4 UUID in upper case.
        func makeIdentifier() -> String { UUIDText.text(randomBytes(16), version: 4) }
    }

    let core: ServiceCore
    let assetStorage: any AssetStorage
    let containerRules: ContainerRules
    /// Nil if people sign in with passwords of this server only.
    let identitySignIn: IdentitySignIn?
    let throttle: PasswordThrottle
    let uses = CredentialUseLog()
    let refusals = RefusalGate()
    /// Writes events of the audit log to the process's log, too.
    let auditLog: @Sendable (AuditEvent) -> Void
    let requestBudgets: RequestBudgets
    /// Uploads and receipts of an account that no limit of a private database counts.
    let uploadBudgets: RequestBudgets
    let memory: RequestMemory
    let streams: OpenCounts
    let accountStreams = OpenCounts(atMost: Self.streamsPerAccount)
    package let admission: AdmissionGate
    /// Hashes of passwords are computed one at a time. The sites that ask for them take turns.
    var passwordChecks = AdmissionGate(AdmissionController.Rules(runningMax: 1, interval: .seconds(10)))
    let reservations = UploadReservations()
    let indexBuilds = IndexBuilds()
    /// Nil for a service that makes no snapshots.
    let zoneSnapshots: ZoneSnapshots?

    package init(
        engine: Engine, storage: any EngineStorage, accounts: any AccountStorage, assets: any AssetStorage,
        push: any PushBus, surroundings: Surroundings, offered: Set<Capability> = Set(Capability.allCases),
        profile: ServiceProfile = .tarn, containerRules: ContainerRules = ContainerRules(), identitySignIn: IdentitySignIn? = nil,
        snapshots: (any SnapshotStorage)? = nil,
        auditLog: @escaping @Sendable (AuditEvent) -> Void = { _ in }
    ) {
        let offers = profile.offered(offered)
        core = ServiceCore(
            engine: engine, storage: storage, accounts: accounts, push: push, surroundings: surroundings,
            offered: snapshots == nil ? offers.subtracting([.snapshots]) : offers, profile: profile)
        self.identitySignIn = identitySignIn
        self.auditLog = auditLog
        assetStorage = assets
        zoneSnapshots = offers.contains(.snapshots) ? snapshots.map { ZoneSnapshots($0, engine.limits) } : nil
        self.containerRules = containerRules
        throttle = PasswordThrottle(shared: storage as? any AttemptStorage, networks: storage as? any NetworkStorage)
        memory = RequestMemory(bytesMax: engine.limits.requestMemoryBytes)
        streams = OpenCounts(atMost: engine.limits.anonymousStreamsPerNetwork)
        admission = AdmissionGate(AdmissionController.Rules(engine.limits))
        requestBudgets = RequestBudgets(perMinute: engine.limits.requestsPerMinute)
        uploadBudgets = RequestBudgets(perMinute: engine.limits.openUploads)
    }

    package var engine: Engine { core.engine }
    package var surroundings: Surroundings { core.surroundings }
    package var profile: ServiceProfile { core.profile }

    /// Push streams of one account, with any container: the limit of the hub is for each container, and the limit of connections isn't for
    /// those of a gateway.
    package static let streamsPerAccount = 8 * PushHub.listenersPerAudience

    /// Bytes of memory that requests and unsent responses take now.
    package var requestMemoryInUse: Int { memory.bytes }

    /// Responds to a request. It never throws: any failure is a response.
    package func respond(to request: ServiceRequest) async -> ServiceResponse {
        let uuid = surroundings.makeIdentifier()
        if request.method == "OPTIONS" { return OriginHeaders.preflight(request) }
        var request = request
        request.requestUUID = uuid
        var response: ServiceResponse
        do {
            response = try await route(request)
        } catch {
            response = errors.response(to: error, uuid: uuid)
        }
        if response.endpoint.isEmpty { response.endpoint = ServiceResponse.endpoint(ofPath: request.path) }
        response.requestUUID = uuid
        response.headers.append((HeaderNames.requestUUID, uuid))
        if core.hasLiveKeys(request) { response.headers.append((HeaderNames.version, "1.0")) }
        let granted = core.capabilities(askedBy: request)
        if !granted.isEmpty { response.headers.append((HeaderNames.capabilities, Capability.headerValue(granted))) }
        if granted.contains(.serverTime) { response.headers.append((HeaderNames.serverTime, String(surroundings.now()))) }
        if granted.contains(.serverIdentity) { response.headers.append((HeaderNames.serverIdentity, engine.serverIdentity)) }
        response.headers.append(contentsOf: OriginHeaders.headers(of: request))
        response.headers = profile.headers(response.headers)
        return response
    }

    /// A call of the server itself, or for a caller that was authenticated elsewhere.
    package func call(_ partition: Partition, _ caller: Caller, baseURL: String) -> Call { core.call(partition, caller, baseURL: baseURL) }

    package func userRecordName(of account: Int64, in containerIdentifier: String) async throws -> String {
        try await core.userRecordName(of: account, in: containerIdentifier)
    }

    /// Carries out an operation for a caller that was authenticated elsewhere: the console's.
    ///
    /// - Returns: The answer's body.
    package func perform(_ operation: ServicePath.Operation, _ body: [UInt8], as call: Call) async throws -> [UInt8] {
        try DatabaseRules.check(operation, in: call.partition.scope, call.caller, capabilities: call.capabilities)
        let response = try await operations.respond(
            to: Exchange(
                operation: operation, method: operation.method, call: call, body: body, key: nil, credentials: Credentials()))
        guard case .bytes(let bytes) = response.body else { return [] }
        return bytes
    }

    package var now: Int64 { surroundings.now() }

    package func sha256(_ bytes: [UInt8]) -> [UInt8] { core.accounts.sha256(bytes) }

    /// A short code that only this server makes, for forms of its own pages.
    package func formCode(of session: String) -> String {
        Hex.text(engine.sealer.code(of: Array("form \(session)".utf8), purpose: .signIn))
    }

    /// The schema operations of a container.
    package func schema(of containerIdentifier: String) -> SchemaService {
        SchemaService(
            containerIdentifier: containerIdentifier, engine: engine, storage: core.storage, surroundings: surroundings)
    }

    /// Counts a container's databases in the background; see `EngineStorage.size(ofContainer:_:_:bounds:progress:)`.
    package func size(
        ofContainer containerIdentifier: String, _ environment: CloudEnvironment, bounds: CountBounds = CountBounds()
    ) async throws -> ContainerSize {
        try await core.storage.size(
            ofContainer: containerIdentifier, environment, WorkTerms(requester: "", milliseconds: nil, isBackground: true), bounds: bounds)
    }

    private func route(_ request: ServiceRequest) async throws -> ServiceResponse {
        if request.path == "/health" { return .json(Array(#"{"status":"ok"}"#.utf8), endpoint: "health") }
        if request.path == OpenAPIDocument.path, request.method == "GET" {
            try budgets.take(of: .network("\(request.network) documents"))
            return .json(OpenAPIDocument.bytes, endpoint: "openapi")
        }
        if request.path == "/ready" { return try await respondWhetherReady() }
        if request.path.hasPrefix(AssetPath.prefix) || request.path.hasPrefix(CourierAddress.prefix) {
            try budgets.take(of: .network("\(request.network) addresses"))
            return request.path.hasPrefix(AssetPath.prefix)
                ? try await assetTransfers.respond(to: request) : try await couriers.respond(to: request)
        }
        if let refusal = refusalOfCoding(request) { return refusal }
        do {
            if DevicePath.isOne(request.path) { return try await deviceRoute.respond(to: request, try DevicePath(parsing: request.path)) }
            return try await databaseRoute.respond(to: request)
        } catch let error as WireError where error.code == .authenticationFailed {
            // Guesses count, so that a network that makes too many of them learns nothing more.
            try budgets.take(of: .network("\(request.network) failures"))
            throw error
        }
    }

    /// A compressed body is not decompressed: its size would be unknown, and requests are small.
    ///
    /// - Returns: Nil for a body as it is.
    private func refusalOfCoding(_ request: ServiceRequest) -> ServiceResponse? {
        guard let coding = request.header("content-encoding"), !coding.isEmpty, coding.lowercased() != "identity" else { return nil }
        let error = WireError(.badRequest, "a request body is sent as it is: the only Content-Encoding that is accepted is identity")
        var response = errors.response(to: error, uuid: request.requestUUID)
        response.status = 415
        // Source: RFC 9110, section 12.5.3.
        response.headers.append(("Accept-Encoding", "identity"))
        return response
    }

    private static let readyMilliseconds = 2000

    /// The storage can be read; what fails is answered as a request would be.
    private func respondWhetherReady() async throws -> ServiceResponse {
        let partition = Partition(
            containerIdentifier: "ready", environment: .production, scope: .public, owner: Partition.publicOwner)
        // A load balancer asks again soon, so a database that hangs is reported early.
        let terms = WorkTerms(requester: "", milliseconds: Self.readyMilliseconds)
        _ = try await core.storage.readBriefly(partition, terms) { try $0.state() }
        return .json(Array(#"{"status":"ready"}"#.utf8), endpoint: "ready")
    }
}
