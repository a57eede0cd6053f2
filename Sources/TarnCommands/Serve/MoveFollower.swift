// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudStorageSupport
import Foundation
import ServiceLifecycle
import Synchronization

#if TARN_POSTGRES
    import CloudEnginePostgres
#endif

/// Where a server's data is after a move.
extension ServerData {
    /// The place of data that was moved away from this one.
    ///
    /// - Returns: Nil unless it was moved.
    /// - Throws: `CommandError` for a place that this machine doesn't have.
    func following(_ state: MoveState?) throws -> ServerData? {
        guard let state, state.phase == .away else { return nil }
        guard let address = try? DatabaseAddress(state.other) else {
            guard FileManager.default.fileExists(atPath: "\(state.other)/tarn.sqlite") else {
                throw CommandError(
                    "The data of \(shown) was moved to the folder \(state.other), which this machine does not have: start a server there.")
            }
            return ServerData(folder: state.other, database: nil)
        }
        return ServerData(folder: folder, database: address)
    }

    private func moveState() throws -> MoveState? {
        guard let database else { return try SQLiteServerStore.moveState(path: folder) }
        #if TARN_POSTGRES
            return try PostgresServerStore.moveState(address: database.text)
        #else
            throw CommandError.withoutPostgreSQL(database)
        #endif
    }

    private static let movesMax = 8
    private static let retryInterval = Duration.milliseconds(50)
    private static let retryLimit = Duration.seconds(10)

    /// Opens a server's storage, at the place to which its data was moved.
    ///
    /// The move may be about to end, or may have ended just before it made the destination ready: then this does.
    ///
    /// - Parameter origin: The place from which a running server's data has just been moved to this one.
    func opening<Server>(
        after origin: ServerData?, _ open: (ServerData) throws -> Server
    ) async throws -> (server: Server, place: ServerData) {
        var (place, source, moves) = (self, origin, 0)
        let deadline = ContinuousClock.now + Self.retryLimit
        while true {
            do {
                do {
                    return (try open(place), place)
                } catch let failure as StorageFailure where failure.code == .moved && moves < Self.movesMax {
                    guard let next = try place.following(place.moveState()) else { throw failure }
                    (source, place, moves) = (place, next, moves + 1)
                } catch let failure as StorageFailure where failure.code == .arriving {
                    guard let source, let id = try source.moveState()?.id else { throw failure }
                    // Another move fills the destination.
                    if let arriving = try place.moveState(), arriving.id != id { throw failure }
                    try await source.finishMove(to: place, id: id)
                }
            } catch let failure as StorageFailure where failure.code == .inUse && source != nil && ContinuousClock.now < deadline {
                // The command still uses the destination, and makes it ready itself.
                try await Task.sleep(for: Self.retryInterval)
            }
        }
    }

    private func finishMove(to place: ServerData, id: String) async throws {
        let folder = folder
        try await DiskQueue.run {
            let end = try place.moveEnd(assets: folder, isSource: false)
            defer { end.close() }
            try ServerMove.finish(end, id: id)
        }
    }

    /// Whether a `MoveEnd/address` is that of this place. The password may be another one by now.
    func isPlace(_ address: String) -> Bool {
        guard let database else { return address == SQLiteMoveEnd.address(path: folder) }
        return (try? DatabaseAddress(address))?.shown == database.shown
    }

    /// Opens the data for a move.
    ///
    /// - Parameter assets: The folder of assets of a database.
    func moveEnd(assets: String, isSource: Bool) throws -> any MoveEnd {
        guard let database else { return try SQLiteMoveEnd(path: folder, role: isSource ? .source : .destination) }
        #if TARN_POSTGRES
            return try PostgresMoveEnd(address: database.text, shown: database.shown, assets: assets, makesTables: !isSource)
        #else
            throw CommandError.withoutPostgreSQL(database)
        #endif
    }
}

/// Ends the server once its data was moved; ``state`` names the new place then.
final class MoveFollower: ServiceLifecycle.Service {
    private static let interval = Duration.seconds(1)
    /// While a move runs, since writes fail from its end until the server continues at the destination.
    private static let shortInterval = Duration.milliseconds(50)

    private let store: any MovableStorage
    private let moved = Mutex<MoveState?>(nil)

    init(store: any MovableStorage) { self.store = store }

    var state: MoveState? { moved.withLock { $0 } }

    func run() async throws {
        await cancelWhenGracefulShutdown { [self] in
            while !Task.isCancelled {
                let state = try? await store.moveState()
                if let state, state.phase == .away { return moved.withLock { $0 = state } }
                try? await Task.sleep(for: state == nil ? Self.interval : Self.shortInterval)
            }
        }
    }
}
