// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// One change of a record, as `tarn watch` shows it. It has no values of fields.
struct WatchedChange: Equatable, Sendable {
    /// Milliseconds since 1970 UTC; nil for a deletion, which has no stored time.
    var time: Int64?
    /// `public`, or the user record name of a private database's owner.
    var database: String
    var zone: String
    var type: String
    var name: String
    var isDeleted: Bool
    /// Identifier of the device that saved the record, if the device sent it.
    var device: String?

    init(_ record: Record, database: String, zone: String) {
        time = record.isDeleted ? nil : record.modified?.timestamp
        self.database = database
        self.zone = zone
        type = record.recordType
        name = record.recordName
        isDeleted = record.isDeleted
        device = record.modified?.deviceID
    }

    /// Fixed widths, since a stream cannot fit its columns to later rows.
    private static let widths = [20, 7, 12, 16, 16]
    static let heading = line(["TIME", "ACTION", "DATABASE", "ZONE", "TYPE", "NAME"])

    private static func line(_ words: [String]) -> String {
        let padded = words.enumerated().map { index, word in
            index < widths.count ? word + String(repeating: " ", count: max(0, widths[index] - word.count)) : word
        }
        return padded.joined(separator: "  ")
    }

    func text(_ style: TextStyle, now: Int64) -> String {
        let short = database.hasPrefix("_") ? String(database.prefix(9)) + "…" : database
        let words = [
            TimeText.utc(time ?? now), isDeleted ? "deleted" : "saved", short, zone == ZoneID.defaultZoneName ? "(default)" : zone,
            type.isEmpty ? "-" : type, name,
        ]
        let line = Self.line(words.map { TerminalText.escaped($0) })
        return isDeleted ? style.bad(line) : line
    }

    func json(now: Int64) -> String {
        let members = [
            ("time", JSONText.string(TimeText.utc(time ?? now))), ("action", JSONText.string(isDeleted ? "deleted" : "saved")),
            ("database", JSONText.string(database)), ("zone", JSONText.string(zone)), ("recordType", JSONText.string(type)),
            ("recordName", JSONText.string(name)), ("device", device.map(JSONText.string) ?? "null"),
        ]
        return "{" + members.map { "\(JSONText.string($0.0)):\($0.1)" }.joined(separator: ",") + "}"
    }
}

/// Finds the changes of a container in a server's data, by the change counter of each database.
struct FolderWatch {
    /// Changes per page.
    private static let pageRecords = 500

    let store: any OperatedStorage
    let container: String
    let environment: CloudEnvironment
    private var counters: [Partition: Int64] = [:]
    private var state: String?

    init(store: any OperatedStorage, container: String, environment: CloudEnvironment) {
        self.store = store
        self.container = container
        self.environment = environment
    }

    /// The changes since the last call, in the order of each database; the first call returns none.
    mutating func poll() async throws -> [WatchedChange] {
        let isFirst = state == nil
        let now = try await store.stateText()
        guard now != state else { return [] }
        state = now
        var changes: [WatchedChange] = []
        for (partition, counter) in try await store.changeCounters(containerIdentifier: container, environment: environment) {
            let known = counters[partition] ?? 0
            counters[partition] = counter
            guard !isFirst, counter > known else { continue }
            let records = try await records(of: partition, after: known, upTo: counter)
            let database = partition.scope == .public ? DatabaseScope.public.rawValue : partition.owner
            changes += records.map { WatchedChange($0.record.record, database: database, zone: $0.zone) }
        }
        return changes
    }

    private func records(
        of partition: Partition, after known: Int64, upTo counter: Int64
    ) async throws -> [(zone: String, record: StoredRecord)] {
        try await store.read(partition) { view in
            var found: [(zone: String, record: StoredRecord)] = []
            for zone in try view.zones() where zone.change > known {
                // Later changes come with the next counter.
                var slice = ChangeSlice(after: known, before: counter + 1)
                while true {
                    let page = try view.records(slice, in: zone.key, includingDeleted: true, limit: Self.pageRecords, bytesMax: 1 << 24)
                    found += page.map { (zone.name, $0) }
                    guard let last = page.last else { break }
                    slice.after = last.change
                }
            }
            return found.sorted { $0.record.change < $1.record.change }
        }
    }
}
