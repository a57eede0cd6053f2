// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Changes of one record, newest first.
package struct RecordBiography: Hashable, Sendable {
    package struct Event: Hashable, Sendable {
        package var change: ChangeLogEntry.Change
        /// Milliseconds since 1970 UTC.
        package var time: Int64
        package var userRecordName: String
        package var deviceID: String
        package var requestUUID: String
        package var changeTag: String { String(change.number, radix: 36) }
    }

    package var events: [Event]
    /// The number of the change that the next page begins with; nil at the end.
    package var next: Int64?
    /// Whether earlier changes are not in the log any more, or were made before there was one.
    package var isCut: Bool
}

/// Reads and appends to the change log of a database.
package struct ChangeLog: Sendable {
    /// The changes of a record, deleted or not, as far as the change log has them. For the owner of a private database and for the operator
    /// in the public one.
    ///
    /// - Parameters:
    ///   - number: Where to begin: ``RecordBiography/next`` of the page before; nil for the last change.
    ///   - limit: Events at most.
    /// - Throws: `WireError` with `.notFound` for a record that is not there and never was, `.zoneNotFound`, `.accessDenied` for others.
    package func biography(
        of recordName: String, in zoneID: ZoneID, from number: Int64? = nil, limit: Int, _ view: any PartitionReader, _ call: Call
    ) throws -> RecordBiography {
        guard call.caller.isOperator || call.partition.scope == .private && !call.isParticipant else {
            throw WireError(.accessDenied, "the history of a record is for the owner of its database")
        }
        let zone = try ZoneAccess(view, call).liveZone(zoneID)
        var next = number
        if next == nil {
            guard let stored = try view.records(named: [recordName], in: zone.key)[recordName] else {
                throw WireError(.notFound, "record not found")
            }
            next = stored.change
        }
        var biography = RecordBiography(events: [], isCut: false)
        while let number = next, biography.events.count < limit {
            guard let entry = try view.changeLog(at: number), let change = entry.changes.first(where: { $0.number == number }) else {
                biography.isCut = true
                return biography
            }
            biography.events.append(
                RecordBiography.Event(
                    change: change, time: entry.time, userRecordName: entry.userRecordName(in: call.partition), deviceID: entry.deviceID,
                    requestUUID: entry.requestUUID))
            // Numbers grow, so the chain ends.
            next = change.previous.flatMap { $0 < number ? $0 : nil }
        }
        biography.next = next
        return biography
    }

    /// Appends the changes of records by a request to the change log.
    func append(_ changes: [ChangeLogEntry.Change], in unit: any PartitionWriter, _ call: Call) throws {
        guard !changes.isEmpty else { return }
        let entry = ChangeLogEntry(
            time: call.now, author: ChangeLogEntry.author(call.caller.userRecordName, in: call.partition), deviceID: call.caller.deviceID,
            requestUUID: call.requestUUID, changes: changes)
        try unit.append(entry, bytesMax: ChangeLogEntry.logBytesMax)
    }
}
