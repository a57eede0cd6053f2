// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#if TARN_POSTGRES
    import CloudEngine
    import CloudService
    import CloudWire
    import TemporaryPostgres
    import TestBasics
    import Testing

    @testable import CloudEnginePostgres

    /// A store with units that wait for each other, so that they may share a transaction.
    struct PostgresGroup: Sendable {
        struct Refused: Error {}

        /// A unit of work that writes.
        struct Unit: Sendable {
            let partition: Partition
            let terms: WorkTerms
            let isRepeated: Bool
            let run: @Sendable (any PartitionWriter) throws -> Void

            /// - Parameters:
            ///   - milliseconds: Nil for maintenance.
            ///   - isRepeated: Whether an earlier transaction with the unit failed.
            init(
                _ requester: String = "a", milliseconds: Int? = 60_000, in partition: Partition = PostgresGroup.mia,
                isRepeated: Bool = false, _ run: @escaping @Sendable (any PartitionWriter) throws -> Void
            ) {
                self.partition = partition
                self.isRepeated = isRepeated
                terms = WorkTerms(requester: requester, milliseconds: milliseconds)
                self.run = run
            }
        }

        static let mia = partition("_mia")
        static let bo = partition("_bo")

        private static func partition(_ owner: String) -> Partition {
            Partition(containerIdentifier: "iCloud.org.example.notes", environment: .development, owner: owner)
        }

        let folder = TemporaryFolder()
        let address: String
        let store: PostgresServerStore

        /// - Parameter joinSeconds: By default all units that wait join, also on a machine with other work.
        init(joinSeconds: Double = 60) async throws {
            address = try #require(TemporaryPostgres.shared).makeDatabase()
            store = try PostgresServerStore(
                address: address, assets: folder.path, connections: 2, passwordRounds: 16, joinSeconds: joinSeconds)
            for partition in [Self.mia, Self.bo] { try await store.write(partition) { _ = try $0.raiseCounter(by: 1) } }
        }

        func counter() async throws -> Int64 { try await store.read(Self.mia) { try $0.state().counter } }

        func names() async throws -> [String] { try await store.read(Self.mia, Self.names) }

        static func names(in reader: any PartitionReader) throws -> [String] {
            try reader.zones().filter { !$0.isDefault }.map(\.name).sorted()
        }

        static func addZone(_ name: String, _ writer: any PartitionWriter) throws {
            let change = try writer.raiseCounter(by: 1)
            try writer.save(StoredZone(key: change, name: name, change: change), at: 1)
        }

        /// Executes units while another transaction has the rows of all partitions, so that they wait for each other, and share
        /// transactions when it ends.
        ///
        /// - Parameter units: The first one of each partition begins; the others wait behind it.
        func together(_ units: [Unit]) async throws -> [Result<Void, any Error>] {
            let other = try PostgresConnection(address)
            try other.send("BEGIN")
            _ = try other.query("SELECT part FROM partitions FOR UPDATE")
            let results = try await withThrowingTaskGroup(of: (Int, Result<Void, any Error>).self) { group in
                for (index, unit) in units.enumerated() {
                    group.addTask { [store] in
                        do {
                            if unit.isRepeated {
                                try await store.pool.write(
                                    unit.partition, unit.terms, audited: nil, isRepeated: true, makesPartition: true
                                ) { try unit.run($0) }
                            } else {
                                try await store.write(unit.partition, unit.terms, unit.run)
                            }
                            return (index, .success(()))
                        } catch {
                            return (index, .failure(error))
                        }
                    }
                    // In order.
                    let count = units[...index].count { $0.partition == unit.partition }
                    try await until { store.pool.writesCount(of: unit.partition) == count }
                }
                try other.commit()
                other.close()
                return try await group.reduce(into: [Int: Result<Void, any Error>]()) { $0[$1.0] = $1.1 }
            }
            return units.indices.compactMap { results[$0] }
        }
    }
#endif
