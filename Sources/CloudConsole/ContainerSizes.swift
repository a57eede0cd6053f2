// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import Synchronization

/// Counts of all containers, for the overview.
///
/// Counting reads up to ``CountBounds`` of a container. A small server counts for the request, once a minute. Others count in the background, every ten minutes
/// while the overview is visited, and the overview shows the last counts with their age.
final class ContainerSizes: Sendable {
    struct Counted: Sendable {
        var sizes: [ContainerSize]
        /// When the counting began, in milliseconds since 1970 UTC.
        var time: Int64

        func size(of container: String, _ usage: ContainerUsage?) -> ContainerSize? {
            sizes.first { $0.containerIdentifier == container && $0.environment == usage?.environment }
        }
    }

    /// A server of this size counts in some milliseconds.
    private static let (smallDatabases, smallBytes): (Int, Int64) = (100, 10_000_000)
    private static let (smallMilliseconds, milliseconds): (Int64, Int64) = (60_000, 600_000)

    private let bounds: CountBounds
    private let counted = Mutex<Counted?>(nil)
    private let visits: AsyncStream<Void>
    private let visit: AsyncStream<Void>.Continuation

    init(bounds: CountBounds = CountBounds()) {
        self.bounds = bounds
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        (visits, visit) = (stream, continuation)
    }

    /// The counts, not older than a minute if the server is small.
    ///
    /// - Parameter usage: That of all containers.
    /// - Returns: Nil before the first counts of a large server.
    func counts(_ usage: [ContainerUsage], _ service: CloudService) async throws -> Counted? {
        let databases = usage.reduce(0) { $0 + $1.databases }
        let bytes = usage.reduce(Int64(0)) { $0 + $1.usage.records }
        let isSmall = databases <= Self.smallDatabases && bytes <= Self.smallBytes
        let last = counted.withLock { $0 }
        // A small server does not show a new container without counts.
        if let last, !isSmall || usage.allSatisfy({ last.size(of: $0.containerIdentifier, $0) != nil }),
            (0..<(isSmall ? Self.smallMilliseconds : Self.milliseconds)).contains(service.now - last.time)
        {
            return last
        }
        if isSmall { return try await count(usage, service) }
        visit.yield()
        return last
    }

    private func count(_ usage: [ContainerUsage], _ service: CloudService) async throws -> Counted {
        let time = service.now
        var sizes: [ContainerSize] = []
        for one in usage { sizes.append(try await service.size(ofContainer: one.containerIdentifier, one.environment, bounds: bounds)) }
        let result = Counted(sizes: sizes, time: time)
        counted.withLock { $0 = result }
        return result
    }

    /// Counts after each visit that found old counts, until the task is cancelled. Called once.
    func countInBackground(_ storage: any AdministrationStorage, _ service: CloudService) async {
        for await _ in visits {
            let isNew = counted.withLock { $0.map { (0..<Self.milliseconds).contains(service.now - $0.time) } ?? false }
            // After a failure, the next visit counts again.
            if !isNew, let usage = try? await storage.containerUsage() { _ = try? await count(usage, service) }
        }
    }
}
