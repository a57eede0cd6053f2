// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting

/// T1: the duration of an app's unit test with two devices.
enum Testing {
    static func work() -> Work {
        let tarn = Entrant(Entrant.tarn) {
            Trial { Outcome(check: try blocking { try await conflict() }) }
        }
        return Work(id: "T1", title: "a test of two devices that conflict, with the cloud it makes", entrants: [tarn])
    }

    /// - Returns: 1 if the second device received the conflict and resolved it.
    private static func conflict() async throws -> Int {
        let cloud = try TestCloud()
        let phone = try await cloud.device("phone", account: "mia").container.privateCloudDatabase
        let tablet = try await cloud.device("tablet", account: "mia").container.privateCloudDatabase
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "note"))
        note["text"] = "Milk"
        let mine = try await phone.save(note)
        let theirs = try await tablet.record(for: note.recordID)
        mine["text"] = "Milk, eggs"
        _ = try await phone.save(mine)
        theirs["text"] = "Milk, bread"
        do {
            _ = try await tablet.save(theirs)
            return 0
        } catch let error as CKError where error.code == .serverRecordChanged {
            guard let server = error.serverRecord else { return 0 }
            server["text"] = "Milk, eggs, bread"
            return try await tablet.save(server)["text"] == "Milk, eggs, bread" ? 1 : 0
        }
    }
}
