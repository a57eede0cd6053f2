// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import Foundation
import Synchronization
import Testing

/// A process of an app, as far as long-lived operations need it: their store, and the connection.
private struct AppProcess {
    let home: LongLivedOperationStore
    let container: CKContainer
    let connection: OwnConnection

    init(_ folder: URL, _ transport: any CloudTransport, clock: ClientClock = .real, after seconds: TimeInterval = 0) {
        home = LongLivedOperationStore(folder: folder, now: { Date().addingTimeInterval(seconds) })
        connection = OwnConnection(Connection(environment: .development, transport: transport, clock: clock, longLived: home))
        container = CKContainer(identifier: "iCloud.n", connection: connection)
    }

    func ids() async throws -> [CKOperation.ID] { try await container.allLongLivedOperationIDs() }
}

private final class CallbackLog: Sendable {
    private let words = Mutex<[String]>([])
    func add(_ word: String) { words.withLock { $0.append(word) } }
    var all: [String] { words.withLock { $0 } }
}

private func upload(_ name: String = "sage") -> CKModifyRecordsOperation {
    let record = CKRecord(recordType: "Plant", recordID: CKRecord.ID(recordName: name))
    record["secret"] = "a secret text"
    let operation = CKModifyRecordsOperation(recordsToSave: [record])
    operation.configuration.isLongLived = true
    return operation
}

private func run(_ operation: CKDatabaseOperation, on process: AppProcess) async { await run(operation, in: process.container) }

private func run(_ operation: CKDatabaseOperation, in container: CKContainer) async {
    await withCheckedContinuation { continuation in
        let after = BlockOperation {}
        after.completionBlock = { continuation.resume() }
        after.addDependency(operation)
        container.privateCloudDatabase.add(operation)
        OperationQueue().addOperation(after)
    }
}

private let saved = RecordingTransport.Answer.ok(
    #"{"records": [{"recordName": "sage", "recordType": "Plant", "recordChangeTag": "1", "fields": {}}]}"#)

/// A process that ended after an operation was persisted, with the operation.
private func ended(in folder: URL, _ name: String = "sage") async throws -> CKOperation.ID {
    let process = AppProcess(folder, RecordingTransport())
    let operation = upload(name)
    operation.longLivedOperationWasPersistedBlock = { process.home.simulateProcessEnd() }
    await run(operation, on: process)
    return operation.operationID
}

/// Persisted operations in files.
@Suite struct PersistedOperationTests {
    @Test func damagedAndNewerOperationsAreLeftUnchanged() async throws {
        let folder = try TemporaryFolder()
        let ids = [try await ended(in: folder.url), try await ended(in: folder.url), try await ended(in: folder.url)]
        let damaged = folder.url.appendingPathComponent("\(ids[0])/operation")
        var bytes = try Data(contentsOf: damaged)
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: damaged)
        let newer = folder.url.appendingPathComponent("\(ids[1])/operation")
        var other = try Data(contentsOf: newer)
        other[Array("tarn operation 1".utf8).count - 1] = UInt8(ascii: "2")
        try other.write(to: newer)

        let transport = RecordingTransport(saved)
        let process = AppProcess(folder.url, transport)
        #expect(try await process.ids() == [ids[2]])
        await process.home.waitUntilIdle()
        #expect(try await process.container.longLivedOperation(for: ids[0]) == nil)
        #expect(transport.requests.count == 1)
        #expect(FileManager.default.fileExists(atPath: damaged.path))
        #expect(FileManager.default.fileExists(atPath: newer.path))
    }

    @Test func everyByteOfAJournaledResponseIsVerified() async throws {
        let folder = try TemporaryFolder()
        let id = try await ended(in: folder.url)
        let first = AppProcess(folder.url, RecordingTransport(saved))
        _ = try await first.ids()
        await first.home.waitUntilIdle()
        first.home.simulateProcessEnd()
        let answer = folder.url.appendingPathComponent("\(id)/step-1.answer")
        try Data(contentsOf: answer).dropLast(3).write(to: answer)
        #expect(try await AppProcess(folder.url, RecordingTransport()).ids().isEmpty)
    }

    @Test func onlyThisUserMayReadThem() async throws {
        let folder = try TemporaryFolder()
        let home = folder.url.appendingPathComponent("made/by/itself")
        let id = try await ended(in: home)
        func mode(_ path: String) throws -> Int? {
            (try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber)?.intValue
        }
        let operation = home.appendingPathComponent(id).path
        #expect(try mode(home.path) == 0o700)
        #expect(try mode(operation) == 0o700)
        #expect(try mode(operation + "/operation") == 0o600)
    }

    @Test func oneProcessAtATimeExecutesAnOperation() async throws {
        let folder = try TemporaryFolder()
        let id = try await ended(in: folder.url)
        let (first, second) = (RecordingTransport(saved), RecordingTransport(saved))
        let (one, other) = (AppProcess(folder.url, first), AppProcess(folder.url, second))
        #expect(try await one.ids() == [id])
        await one.home.waitUntilIdle()
        #expect(try await other.ids().isEmpty)
        await other.home.waitUntilIdle()
        #expect(first.requests.count == 1)
        #expect(second.requests.isEmpty)
        one.home.simulateProcessEnd()
        #expect(try await other.ids() == [id])
        #expect(second.requests.isEmpty)
    }

    @Test func aWaitingOperationSendsNothingAfterAnAccountChange() async throws {
        let folder = try TemporaryFolder()
        let id = try await ended(in: folder.url)
        let transport = RecordingTransport(.failure(CKError(.networkUnavailable)), saved)
        let (waits, release) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
        let clock = ClientClock(
            now: { .zero },
            sleep: { _ in
                waits.continuation.yield()
                for await _ in release.stream { return }
            })
        let process = AppProcess(folder.url, transport, clock: clock)
        #expect(try await process.ids() == [id])
        for await _ in waits.stream { break }
        let other = LongLivedOperationStore(folder: folder.url.appendingPathComponent("other"))
        let eve = RecordingTransport()
        process.connection.change(to: Connection(environment: .development, transport: eve, longLived: other))
        release.continuation.yield()
        await process.home.waitUntilIdle()
        #expect(transport.requests.count == 1)
        #expect(eve.requests.isEmpty)
        #expect(try await process.ids().isEmpty)

        process.connection.change(to: Connection(environment: .development, transport: transport, longLived: process.home))
        #expect(try await process.ids() == [id])
        await process.home.waitUntilIdle()
        #expect(transport.requests.count == 2)
    }

    @Test func theResourceTimeoutBeginsWhenAnOperationIsPersisted() async throws {
        let folder = try TemporaryFolder()
        let id = try await ended(in: folder.url)
        let transport = RecordingTransport(saved)
        let process = AppProcess(folder.url, transport, after: 8 * 24 * 3600)
        #expect(try await process.ids() == [id])
        await process.home.waitUntilIdle()
        let fetched = try #require(try await process.container.longLivedOperation(for: id) as? CKModifyRecordsOperation)
        let callbacks = CallbackLog()
        fetched.modifyRecordsResultBlock = { result in
            guard case .failure(let error as CKError) = result else { return }
            callbacks.add("\(error.code)")
        }
        await run(fetched, on: process)
        #expect(callbacks.all == ["networkFailure"])
        #expect(transport.requests.isEmpty)
    }

    @Test func unfinishedFoldersAreRemoved() async throws {
        let folder = try TemporaryFolder()
        let half = folder.url.appendingPathComponent(".half")
        try FileManager.default.createDirectory(at: half, withIntermediateDirectories: true)
        #expect(try await AppProcess(folder.url, RecordingTransport()).ids().isEmpty)
        #expect(!FileManager.default.fileExists(atPath: half.path))
    }

    @Test func anOperationFailsIfTheDiskCannotStoreIt() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appendingPathComponent("file")
        try Data().write(to: file)
        let transport = RecordingTransport(saved)
        let operation = upload()
        let callbacks = CallbackLog()
        operation.longLivedOperationWasPersistedBlock = { callbacks.add("kept") }
        operation.modifyRecordsResultBlock = { result in
            guard case .failure(let error as CKError) = result else { return }
            callbacks.add("\(error.code)")
        }
        await run(operation, on: AppProcess(file.appendingPathComponent("home"), transport))
        #expect(callbacks.all == ["internalError"])
        #expect(transport.requests.isEmpty)
    }

    @Test func aRequestThatCannotBeJournaledIsNotSent() async throws {
        let folder = try TemporaryFolder()
        setenv("TARN_TEST_OPERATIONS_FULL", folder.url.path, 1)
        await #expect(processExitsWith: .exitCode(7)) {
            guard let path = ProcessInfo.processInfo.environment["TARN_TEST_OPERATIONS_FULL"] else { return }
            let transport = RecordingTransport(saved)
            let operation = upload()
            let callbacks = CallbackLog()
            operation.longLivedOperationWasPersistedBlock = {
                // From now on no file may grow.
                signal(SIGXFSZ, SIG_IGN)
                var limit = rlimit(rlim_cur: 0, rlim_max: 0)
                setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            }
            operation.modifyRecordsResultBlock = { result in
                guard case .failure(let error as CKError) = result else { return }
                callbacks.add("\(error.code)")
            }
            await run(operation, on: AppProcess(URL(fileURLWithPath: path), transport))
            exit(callbacks.all == ["internalError"] && transport.requests.isEmpty ? 7 : 1)
        }
    }
}

/// Processes that are really killed.
@Suite(.serialized) struct KilledProcessTests {
    @Test func aProcessKilledBeforeItsRequestResumes() async throws {
        let folder = try TemporaryFolder()
        setenv("TARN_TEST_OPERATIONS", folder.url.path, 1)
        await #expect(processExitsWith: .signal(SIGKILL)) {
            guard let path = ProcessInfo.processInfo.environment["TARN_TEST_OPERATIONS"] else { return }
            let operation = upload()
            operation.longLivedOperationWasPersistedBlock = { kill(getpid(), SIGKILL) }
            await run(operation, on: AppProcess(URL(fileURLWithPath: path), RecordingTransport(saved)))
        }
        let transport = RecordingTransport(saved)
        let process = AppProcess(folder.url, transport)
        #expect(try await process.ids().count == 1)
        await process.home.waitUntilIdle()
        let request: ModifyRecordsRequest = try transport.body(0)
        #expect(request.operations.map(\.record.recordName) == ["sage"])
        #expect(transport.requests.count == 1)
    }

    @Test func anAppNeedsNoMoreThanAServerAndAToken() async throws {
        let folder = try TemporaryFolder()
        setenv("TARN_TEST_OPERATIONS", folder.url.path, 1)
        await #expect(processExitsWith: .signal(SIGKILL)) {
            let operation = upload()
            operation.longLivedOperationWasPersistedBlock = { kill(getpid(), SIGKILL) }
            guard let container = configured("mias-secret-token") else { return }
            await run(operation, in: container)
        }
        await #expect(processExitsWith: .exitCode(7)) {
            let ids = try await configured("eves-secret-token")?.allLongLivedOperationIDs()
            exit(ids?.isEmpty == true ? 7 : 1)
        }
        await #expect(processExitsWith: .exitCode(7)) {
            guard let container = configured("mias-secret-token"),
                let id = try await container.allLongLivedOperationIDs().first,
                let fetched = try await container.longLivedOperation(for: id) as? CKModifyRecordsOperation
            else { exit(1) }
            exit(fetched.recordsToSave?.first?["secret"] == "a secret text" ? 7 : 2)
        }
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.url.path)
        #expect(files.contains { $0.contains("/CloudKitOperations/") && $0.hasSuffix("/operation") })
        #expect(!files.contains { $0.contains("secret-token") })
    }

    @Test func aProcessKilledBeforeItsResponseRepeatsTheRequest() async throws {
        let folder = try TemporaryFolder()
        setenv("TARN_TEST_OPERATIONS", folder.url.path, 1)
        await #expect(processExitsWith: .signal(SIGKILL)) {
            guard let path = ProcessInfo.processInfo.environment["TARN_TEST_OPERATIONS"] else { return }
            await run(upload(), on: AppProcess(URL(fileURLWithPath: path), KillingTransport(into: path + "/.sent")))
        }
        let sent = try Data(contentsOf: folder.url.appendingPathComponent(".sent"))
        let transport = RecordingTransport(saved)
        let process = AppProcess(folder.url, transport)
        let id = try #require(try await process.ids().first)
        await process.home.waitUntilIdle()
        let repeated = try #require(transport.requests.first)
        #expect(KillingTransport.bytes(repeated) == sent)
        #expect(transport.requests.count == 1)

        let fetched = try #require(try await process.container.longLivedOperation(for: id) as? CKModifyRecordsOperation)
        let callbacks = CallbackLog()
        fetched.perRecordSaveBlock = { id, _ in callbacks.add(id.recordName) }
        fetched.modifyRecordsResultBlock = { if case .success = $0 { callbacks.add("end") } }
        await run(fetched, on: process)
        #expect(callbacks.all == ["sage", "end"])
        #expect(transport.requests.count == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == [".sent"])
    }
}

/// A container of this process, as an app has one, with its files in the test's folder. Nothing listens at the server's address.
private func configured(_ token: String) -> CKContainer? {
    guard let path = ProcessInfo.processInfo.environment["TARN_TEST_OPERATIONS"] else { return nil }
    setenv("XDG_DATA_HOME", path, 1)
    CKContainer.configure(.init(server: "http://127.0.0.1:1", token: .init(token)), for: "iCloud.org.example.kept")
    return CKContainer(identifier: "iCloud.org.example.kept")
}

/// A transport that delivers the request and no response: the process is killed first.
private struct KillingTransport: CloudTransport {
    private let path: String

    init(into path: String) { self.path = path }

    /// The idempotency key and the body.
    static func bytes(_ request: TransportRequest) -> Data {
        guard case .bytes(let body) = request.body else { return Data() }
        return Data((request.headers[HeaderNames.idempotencyKey] ?? "none").utf8) + Data(body)
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        try Self.bytes(request).write(to: URL(fileURLWithPath: path))
        kill(getpid(), SIGKILL)
        throw CKError(.internalError)
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream { throw CKError(.internalError) }
}
