// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
@testable import CloudMirroring
import Foundation
import MirroringCore
import Synchronization
import SystemSupport
import TestBasics
import Testing

/// The file with the encryption keys: durable before a key is used, and shared by stores and processes without loss.
@Suite(.closesFixtures) struct EncryptionKeyRingTests {
    private let folder = TestScope.temporaryFolder()
    private var file: URL { folder.appendingPathComponent("tarn/keys/my.keys") }

    private func ring(_ disk: DurableFile.Disk = .real) -> EncryptionKeyRing {
        EncryptionKeyRing(.file(file), container: "iCloud.n", disk: disk)
    }

    private func lines() throws -> [String] {
        try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init).filter { $0.hasPrefix("tarn-key-1:") }
    }

    private static func line() -> String {
        "tarn-key-1:" + Data((0..<32).map { _ in UInt8.random(in: .min ... .max) }).base64EncodedString()
    }

    /// Each ring stands for a process: it has a lock of its own on the file.
    @Test func concurrentRingsCreateOneKey() async throws {
        for _ in 0..<20 {
            let rings = (0..<8).map { _ in ring() }
            let keys = try await withThrowingTaskGroup(of: EncryptionKeyRing.KeyID.self) { group in
                for ring in rings { group.addTask { try ring.sealingKey().id } }
                return try await group.reduce(into: Set<EncryptionKeyRing.KeyID>()) { $0.insert($1) }
            }
            #expect(keys.count == 1)
            #expect(try lines().count == 1)
            try FileManager.default.removeItem(at: folder)
        }
    }

    /// Everybody with write access can send a value that names an unknown key. Only a device without a key waits for one.
    @Test(arguments: ["", "com.apple.coredata.cloudkit.share.A"]) func unknownKeyStopsNoDeviceWithAKey(zone: String) throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let unknown = EncryptionKeyRing.KeyID(bytes: Array(repeating: 7, count: EncryptionKeyRing.KeyID.byteCount))
        func isMissing(_ ring: EncryptionKeyRing) throws -> Bool {
            if case .missing = try ring.key(unknown, in: zone) { true } else { false }
        }
        let first = ring()
        #expect(try isMissing(first))
        #expect(throws: CloudFailure.self) { try first.sealingKey(in: zone) }
        let own = try ring().sealingKey().id
        let second = ring()
        #expect(try isMissing(second))
        #expect(try second.sealingKey(in: zone).id == own)
    }

    /// The folder of a mounted secret cannot be written: no process can create a lock in it.
    @Test func presentKeyEncryptsWithoutALock() throws {
        let own = try ring().sealingKey().id
        let lock = file.path + "-lock"
        try FileManager.default.removeItem(atPath: lock)
        try FileManager.default.createDirectory(atPath: lock, withIntermediateDirectories: false)
        #expect(try ring().sealingKey().id == own)
        #expect(throws: POSIXError.self) { try ring().add(Self.line()) }
    }

    /// Texts that were carried over by mail, or edited on Windows.
    @Test func linesMayEndWithCarriageReturns() throws {
        let lines = [Self.line(), Self.line()]
        let keys = try EncryptionKey.parse("# mine\r\n" + lines.map { $0 + "\r\n" }.joined())
        #expect(keys.map(\.line) == lines)
    }

    @Test func concurrentRingsKeepEachOthersKeys() async throws {
        let added = (0..<24).map { _ in Self.line() }
        let rings = added.map { _ in ring() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (ring, line) in zip(rings, added) {
                group.addTask {
                    _ = try ring.sealingKey()
                    try ring.add(line)
                }
            }
            try await group.waitForAll()
        }
        #expect(Set(try lines()).isSuperset(of: added))
        // The first key still seals, for every ring.
        #expect(Set(try rings.map { try $0.sealingKey().id }).count == 1)
        for ring in rings { #expect(Set(try ring.text().split(separator: "\n").map(String.init)).isSuperset(of: added)) }
    }

    @Test func aRingFindsKeysThatAnotherRingAdded() throws {
        let (one, other) = (ring(), ring())
        let first = try one.sealingKey().id
        #expect(try other.sealingKey().id == first)
        let line = Self.line()
        try one.add(line)
        let id = try EncryptionKeyRing(.text(line), container: "iCloud.n").sealingKey().id
        #expect(try other.hasKey(named: id.text))
    }

    /// A file that was not understood is not the one that was read last.
    @Test func aDamagedFileIsAnErrorEachTime() throws {
        let ring = ring()
        let first = try ring.sealingKey().id
        let other = String(repeating: "0", count: 16)
        for _ in 0..<2 { #expect(try !ring.hasKey(named: other)) }
        try Data("tarn-key-1:damaged\n".utf8).write(to: file)
        for _ in 0..<2 { #expect(throws: CloudFailure.self) { try ring.hasKey(named: other) } }
        #expect(try ring.hasKey(named: first.text))
    }

    @Test func aRemovedFileIsWrittenAgainBeforeItsKeySeals() throws {
        let ring = ring()
        let first = try ring.sealingKey().id
        try FileManager.default.removeItem(at: file)
        #expect(try ring.sealingKey().id == first)
        #expect(try self.ring().sealingKey().id == first)
    }

    @Test func theFileAndItsFolderAreDurableBeforeTheKeyIsUsed() throws {
        let synchronized = Mutex<[String]>([])
        let disk = DurableFile.Disk { descriptor in
            let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")) ?? "?"
            synchronized.withLock { $0.append(URL(fileURLWithPath: path).lastPathComponent) }
            return fsync(descriptor)
        }
        let ring = ring(disk)
        _ = try ring.sealingKey()
        let calls = synchronized.withLock { $0 }
        #expect(calls.suffix(2) == [".new-my.keys", "keys"], "\(calls)")
        #expect(calls.contains("tarn"), "the folder of the keys is new, and so is its name: \(calls)")
        // Nothing changed since.
        _ = try ring.sealingKey()
        #expect(synchronized.withLock { $0 } == calls)
        // A file that another process wrote is synchronized before its key seals here.
        _ = try self.ring(disk).sealingKey()
        #expect(synchronized.withLock { $0 }.dropFirst(calls.count) == ["my.keys", "keys"])
    }

    @Test(arguments: 1...6) func aDiskThatFailsGivesNoKey(_ call: Int) throws {
        let count = Atomic(0)
        let failing = DurableFile.Disk { descriptor in
            guard count.add(1, ordering: .relaxed).newValue != call else {
                errno = EIO
                return -1
            }
            return fsync(descriptor)
        }
        let ring = ring(failing)
        let first = try? ring.sealingKey().id
        let calls = count.load(ordering: .relaxed)
        #expect((first == nil) == (calls == call), "the failure of call \(call) was passed over")
        let next = try ring.sealingKey().id
        #expect(try lines().count == 1)
        #expect(try self.ring().sealingKey().id == next)
        #expect((first == nil || first == next))
    }
}
