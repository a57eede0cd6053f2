// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation
import Synchronization
package import Testing

/// Owns the fixtures of one test. When the test ends, also by an error, they are closed, the last one first, and their folders
/// are removed. Leftovers fail the test.
///
///     @Suite(.closesFixtures) struct ImportTests { … }
///
/// Fixtures add themselves when they are made: ``close(_:isFirst:_:)``, ``temporaryFolder(_:)``.
package final class TestScope: Sendable {
    private struct Fixture {
        var id: ObjectIdentifier
        var isFirst: Bool
        var close: @Sendable () async throws -> [String]
    }

    private struct State {
        var fixtures: [Fixture] = []
        var folders: [String] = []
    }

    @TaskLocal private static var current: TestScope?

    private let state = Mutex(State())

    /// Closes a fixture at the end of the running test. A second call for the same object has no effect.
    ///
    /// - Parameters:
    ///   - isFirst: Whether it is closed before the others, as a gate that requests wait at is opened.
    ///   - closer: Returns the leftovers: open streams, timers, rows of queues. It holds the fixture.
    package static func close(
        _ fixture: some AnyObject & Sendable, isFirst: Bool = false, _ closer: @escaping @Sendable () async throws -> [String]
    ) {
        guard let current else {
            Issue.record("the suite needs the trait .closesFixtures: nothing would close \(type(of: fixture))")
            return
        }
        current.state.withLock { state in
            let id = ObjectIdentifier(fixture)
            if !state.fixtures.contains(where: { $0.id == id }) { state.fixtures.append(Fixture(id: id, isFirst: isFirst, close: closer)) }
        }
    }

    /// Releases a fixture that the test has closed.
    package static func release(_ fixture: some AnyObject) {
        current?.state.withLock { state in state.fixtures.removeAll { $0.id == ObjectIdentifier(fixture) } }
    }

    /// Removes a folder or a file at the end of the running test, once all fixtures are closed. It need not exist.
    package static func remove(_ folder: URL) {
        guard let current else {
            Issue.record("the suite needs the trait .closesFixtures: nothing would remove \(folder.lastPathComponent)")
            return
        }
        let path = folder.standardizedFileURL.path
        current.state.withLock { if !$0.folders.contains(path) { $0.folders.append(path) } }
    }

    /// Returns the name of a folder or a file that is removed with the running test. It isn't created.
    package static func temporaryFolder(_ purpose: String = "tarn") -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("\(purpose)-\(UUID().uuidString)")
        remove(folder)
        return folder
    }

    /// Runs a test, and closes the fixtures that it made.
    package static func run(_ test: @Sendable () async throws -> Void) async throws {
        let scope = TestScope()
        do {
            try await $current.withValue(scope) { try await test() }
        } catch {
            // A test that stopped in the middle always has leftovers.
            _ = await $current.withValue(scope) { await scope.end() }
            throw error
        }
        for leftover in await $current.withValue(scope, operation: { await scope.end() }) { Issue.record("left over: \(leftover)") }
    }

    /// Closes the fixtures, and releases each before the next one: files that an object has open until its end are closed then.
    private func end() async -> [String] {
        var leftovers: [String] = []
        while let fixture = takeFixture() {
            do { leftovers += try await fixture.close() } catch { leftovers.append("a fixture that cannot be closed: \(error)") }
        }
        for folder in state.withLock({ $0.folders }) {
            leftovers += OpenFiles.below(folder).map { "the open file \($0)" }
            guard FileManager.default.fileExists(atPath: folder) else { continue }
            do { try FileManager.default.removeItem(atPath: folder) } catch { leftovers.append("the folder \(folder): \(error)") }
        }
        return leftovers
    }

    /// The next fixture to close: those that are first in their order, then the others, the last one first.
    private func takeFixture() -> Fixture? {
        state.withLock { state in
            if let first = state.fixtures.firstIndex(where: \.isFirst) { return state.fixtures.remove(at: first) }
            return state.fixtures.popLast()
        }
    }
}

/// The files that this process has open.
enum OpenFiles {
    /// Returns the paths in a folder, also of files that were deleted since.
    static func below(_ folder: String) -> [String] {
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return descriptors.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
            .filter { $0.hasPrefix(folder + "/") }
    }
}

/// Closes the fixtures of each test of a suite: see ``TestScope``.
package struct ClosesFixtures: SuiteTrait, TestTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await TestScope.run(function)
    }
}

extension Trait where Self == ClosesFixtures {
    /// Closes fixtures when a test ends. A leftover fails the test.
    package static var closesFixtures: Self { Self() }
}
