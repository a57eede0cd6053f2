// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import MirroringCore
import SQLiteStore

/// Deferred references: to-one relationships to objects that have not arrived, or were deleted.
enum DeferredReferenceTable {
    static let statements = [
        """
        CREATE TABLE IF NOT EXISTS TARN_PARKED (zone INTEGER NOT NULL, source TEXT NOT NULL, relationship TEXT NOT NULL, \
        destination TEXT NOT NULL, PRIMARY KEY (zone, source, relationship)) WITHOUT ROWID
        """,
        "CREATE INDEX IF NOT EXISTS TARN_PARKED_DESTINATION ON TARN_PARKED (zone, destination)",
    ]
}

extension SyncMetadataReader {
    func hasDeferredReferences() throws -> Bool { try exists("TARN_PARKED") }

    func deferredReferences(from source: String) throws -> [ParkedRelationship] {
        try deferredReferences("zone = ? AND source = ?", source)
    }

    func deferredReferences(to destination: String) throws -> [ParkedRelationship] {
        try deferredReferences("zone = ? AND destination = ?", destination)
    }

    /// Returns the names of records with deferred references.
    func deferredReferenceSources() throws -> [String] {
        try names("SELECT DISTINCT source FROM TARN_PARKED WHERE zone = ?", [.int(zone)])
    }

    /// Returns the deferred references of this zone whose targets have records in another one.
    func deferredReferences(toRecordsIn other: Int64) throws -> [ParkedRelationship] {
        try deferredReferences(
            where: "zone = ? AND EXISTS (SELECT 1 FROM TARN_RECORD r WHERE r.zone = ? AND r.name = destination)", [.int(zone), .int(other)])
    }

    private func deferredReferences(_ condition: String, _ name: String) throws -> [ParkedRelationship] {
        try deferredReferences(where: condition, [.int(zone), .text(name)])
    }

    private func deferredReferences(where condition: String, _ arguments: [SQLValue]) throws -> [ParkedRelationship] {
        var references: [ParkedRelationship] = []
        try reader.query(
            "SELECT source, relationship, destination FROM TARN_PARKED WHERE \(condition) ORDER BY source, relationship", arguments
        ) { row in
            references.append(
                ParkedRelationship(source: row.text(0) ?? "", relationship: row.text(1) ?? "", destination: row.text(2) ?? ""))
        }
        return references
    }
}

extension SyncMetadataWriter {
    func write(_ reference: ParkedRelationship) throws {
        try writer.execute(
            "INSERT OR REPLACE INTO TARN_PARKED (zone, source, relationship, destination) VALUES (?, ?, ?, ?)",
            [.int(zone), .text(reference.key.source), .text(reference.key.relationship), .text(reference.destination)])
        try noteReferences(to: [reference.destination])
    }

    func removeDeferredReference(_ key: ParkedRelationship.Key) throws {
        try writer.execute(
            "DELETE FROM TARN_PARKED WHERE zone = ? AND source = ? AND relationship = ?",
            [.int(zone), .text(key.source), .text(key.relationship)])
    }

    func removeDeferredReferences(from source: String) throws {
        try writer.execute("DELETE FROM TARN_PARKED WHERE zone = ?1 AND source = ?2", [.int(zone), .text(source)])
    }

    /// Moves the deferred references of a record to another zone, under another name.
    func moveDeferredReferences(from source: String, to destination: SyncMetadataWriter, as new: String) throws {
        try writer.execute(
            "UPDATE TARN_PARKED SET zone = ?, source = ? WHERE zone = ? AND source = ?",
            [.int(destination.zone), .text(new), .int(zone), .text(source)])
        guard mapping.hasUniqueness, destination.zone != zone else { return }
        try destination.noteReferences(to: destination.reader.deferredReferences(from: new).map(\.destination))
    }
}
