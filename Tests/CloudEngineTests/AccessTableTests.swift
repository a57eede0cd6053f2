// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import EngineFixtures
import Testing

/// Permissions by role, operation and database, each cell.
@Suite struct AccessTableTests {
    static let mia = "_" + String(repeating: "a", count: 32)
    static let bo = "_" + String(repeating: "b", count: 32)

    enum Who: String, CaseIterable { case nobody, creator, stranger, moderator, key, `operator` }

    static func caller(_ who: Who) -> Caller {
        switch who {
        case .nobody: .anonymous
        case .creator: Caller(userRecordName: mia, deviceID: "tablet")
        case .stranger: Caller(userRecordName: bo, deviceID: "phone")
        case .moderator: Caller(userRecordName: "_moderator", deviceID: "desk")
        case .key: Caller(userRecordName: "_key", deviceID: "", kind: .serverKey)
        case .operator: Caller(userRecordName: "", deviceID: "", kind: .operator)
        }
    }

    static func call(_ who: Who, _ bench: Bench) -> Call {
        var call = bench.call()
        call.partition.scope = .public
        call.partition.owner = Partition.publicOwner
        call.caller = caller(who)
        return call
    }

    static let grants: [String: SecurityGrants] = [
        "Closed": SecurityGrants(byRole: [:]),
        "Staff": SecurityGrants(byRole: ["Moderators": [.read, .create, .write]]),
        "Wiki": SecurityGrants(byRole: [SecurityGrants.signedIn: [.read, .create, .write]]),
        "Diary": SecurityGrants(byRole: [SecurityGrants.signedIn: .create, SecurityGrants.creator: [.read, .write]]),
    ]

    /// Of each type and caller: read, create, change, delete; `y` is done, `n` is `ACCESS_DENIED`, `a` is
    /// `AUTHENTICATION_REQUIRED`. The records there are were created by the creator.
    static let table: [(type: String, who: Who, cells: String)] = [
        ("Plant", .nobody, "yaaa"), ("Plant", .creator, "yyyy"), ("Plant", .stranger, "yynn"),
        ("Plant", .moderator, "yynn"), ("Plant", .key, "yynn"), ("Plant", .operator, "yyyy"),
        ("Closed", .nobody, "aaaa"), ("Closed", .creator, "nnnn"), ("Closed", .stranger, "nnnn"),
        ("Closed", .moderator, "nnnn"), ("Closed", .key, "nnnn"), ("Closed", .operator, "yyyy"),
        ("Staff", .nobody, "aaaa"), ("Staff", .creator, "nnnn"), ("Staff", .stranger, "nnnn"),
        ("Staff", .moderator, "yyyy"), ("Staff", .key, "nnnn"), ("Staff", .operator, "yyyy"),
        ("Wiki", .nobody, "aaaa"), ("Wiki", .creator, "yyyy"), ("Wiki", .stranger, "yyyy"),
        ("Wiki", .moderator, "yyyy"), ("Wiki", .key, "yyyy"), ("Wiki", .operator, "yyyy"),
        ("Diary", .nobody, "aaaa"), ("Diary", .creator, "yyyy"), ("Diary", .stranger, "nynn"),
        ("Diary", .moderator, "nynn"), ("Diary", .key, "nynn"), ("Diary", .operator, "yyyy"),
    ]

    @Test(arguments: table) func recordsOfThePublicDatabase(_ row: (type: String, who: Who, cells: String)) async throws {
        let bench = try Bench()
        let call = Self.call(row.who, bench)
        var operatorCall = Self.call(.operator, bench)
        try await bench.write(operatorCall) { engine, unit, call in
            try engine.roles.addRole("Moderators", in: unit, call)
            try unit.setRoles(["Moderators"], ofUser: "_moderator")
            for (type, grants) in Self.grants { try engine.roles.setGrants(grants, ofType: type, in: unit, call) }
        }
        // The operator's own stamp would not be the creator's.
        operatorCall.caller.userRecordName = Self.mia
        let there = Record(recordName: "there", recordType: row.type, fields: ["name": Field(.string("Sage"))])
        try await bench.modify(RecordOperation(.create, there), in: .defaultZone, as: operatorCall)

        var seen = ""
        seen += Self.cell(try await bench.lookup("there", in: .defaultZone, as: call)[0])
        for operation in [
            RecordOperation(.create, Record(recordName: "new", recordType: row.type)),
            RecordOperation(.forceUpdate, Record(recordName: "there", recordType: row.type)),
            RecordOperation(.delete, Record(recordName: "there")),
        ] {
            seen += Self.cell(try await bench.modify([operation], in: .defaultZone, as: call)[0])
        }
        #expect(seen == row.cells)
    }

    static func cell(_ result: RecordResult) -> String {
        switch result.error?.code {
        case nil: "y"
        case .accessDenied?: "n"
        case .authenticationRequired?: "a"
        default: "?"
        }
    }

    /// Of each operation: what anonymous callers, users and server keys hear in the public, private and shared
    /// database. `y` goes on to the records, `a` and `f` are `AUTHENTICATION_REQUIRED` and `…FAILED`, `-` is not there.
    static let operations: [(ServicePath.Operation, String)] = [
        (.modifyRecords, "ayy ayf ayf"), (.queryRecords, "yyy ayf ayf"), (.lookupRecords, "yyy ayf ayf"),
        (.uploadAssets, "ayy ayf ayf"), (.listZones, "yyy ayf ayf"), (.lookupZones, "yyy ayf ayf"),
        (.modifyZones, "--- ayf ---"), (.databaseChanges, "--- ayf ayf"), (.zoneChanges, "--- ayf ayf"),
        (.zoneSnapshot, "--- ayf ---"),
        (.listSubscriptions, "ayy ayf ayf"), (.lookupSubscriptions, "ayy ayf ayf"),
        (.modifySubscriptions, "ayy ayf ayf"), (.caller, "ayf ayf ---"),
        (.currentUser, "ayf --- ---"), (.discoverUsers, "ayf --- ---"), (.lookupUsersByEmail, "ayf --- ---"),
        (.lookupUsersByID, "ayf --- ---"), (.lookupUsersByContacts, "ayf --- ---"),
        (.restrictUser, "--- ayf ---"), (.unrestrictUser, "--- ayf ---"), (.resolveRecords, "ayf --- ---"),
        (.acceptRecords, "ayf --- ---"), (.requestAccess, "ayf --- ---"), (.rereferenceAssets, "ayy ayf ayf"),
        (.recordChanges, "--- ayf ayf"),
        (.changedZones, "--- ayf ayf"),
    ]

    @Test func everyOperationInEveryDatabase() {
        for (operation, cells) in Self.operations {
            let seen = [DatabaseScope.public, .private, .shared].map { scope in
                [Who.nobody, .stranger, .key].map { who in
                    do throws(WireError) {
                        try DatabaseRules.check(operation, in: scope, Self.caller(who))
                        return "y"
                    } catch {
                        return switch error.code {
                        case .authenticationRequired: "a"
                        case .authenticationFailed: "f"
                        case .badRequest: "-"
                        default: "?"
                        }
                    }
                }.joined()
            }.joined(separator: " ")
            #expect(seen == cells, "\(operation.rawValue)")
        }
        #expect(Self.operations.map(\.0.rawValue).sorted() == ServicePath.Operation.allCases.map(\.rawValue).sorted())
    }

    /// Only what writes by way of its key may come again with one: what keeps no answers would be done twice.
    @Test func operationsWithoutAStoredResponseAreNotReplayed() {
        let kept: [ServicePath.Operation] = [.modifyRecords, .uploadAssets, .rereferenceAssets, .modifyZones, .modifySubscriptions]
        let changing = kept + [.resolveRecords, .acceptRecords, .requestAccess, .restrictUser, .unrestrictUser]
        for operation in ServicePath.Operation.allCases {
            let expected: Repetition = kept.contains(operation) ? .answeredAsBefore : changing.contains(operation) ? .refused : .harmless
            #expect(operation.repetition == expected, "\(operation.rawValue)")
        }
    }

    @Test func writingTellsNothingThatReadingWouldNot() async throws {
        let bench = try Bench()
        let call = Self.call(.operator, bench)
        try await bench.write(call) { engine, unit, call in
            try engine.roles.setGrants(
                SecurityGrants(byRole: [SecurityGrants.signedIn: [.create, .write]]), ofType: "Box", in: unit, call)
        }
        let secret = Record(recordName: "b1", recordType: "Box", fields: ["name": Field(.string("secret"))])
        try await bench.modify(RecordOperation(.create, secret), in: .defaultZone, as: call)
        let stranger = Self.call(.stranger, bench)
        let results = try await bench.modify(
            [
                RecordOperation(.create, secret)
            ], in: .defaultZone, as: stranger)
        guard case .failure(_, let error, let shown) = results[0] else {
            Issue.record("the record was made twice")
            return
        }
        #expect(error.code == .conflict)
        #expect(shown == nil)
        let changed = try await bench.modify(
            RecordOperation(.forceUpdate, Record(recordName: "b1", recordType: "Box")), in: .defaultZone, as: stranger)
        #expect(changed[0].record?.fields == [:])
    }

    @Test func aUserHasARecordThatOnlyTheUserWrites() async throws {
        let bench = try Bench()
        _ = try await bench.store.addUser(name: "mia", deviceLabel: "tablet", now: 1000)
        let container = bench.call().partition.containerIdentifier
        let account = try #require(try await bench.store.account(named: "mia"))
        _ = try await bench.store.userRecordName(account: account, containerIdentifier: container, proposal: Self.mia)
        let mia = Self.call(.creator, bench)
        let seen = try await bench.lookup(Self.mia, Self.bo, in: .defaultZone, as: Self.call(.nobody, bench))
        #expect(seen.map(\.word) == ["saved", "NOT_FOUND"])
        #expect(seen[0].record?.recordType == "Users")
        #expect(seen[0].record?.created?.timestamp == 1000)

        func write(_ kind: RecordOperation.Kind, _ fields: [String: FieldValue], as who: Call) async throws -> String {
            let record = Record(
                recordName: Self.mia, recordType: "Users", recordChangeTag: "0", fields: fields.mapValues { Field($0) })
            return try await bench.modify(RecordOperation(kind, record), in: .defaultZone, as: who)[0].word
        }
        #expect(try await write(.forceUpdate, ["nickname": .string("Mi")], as: Self.call(.stranger, bench)) == "ACCESS_DENIED")
        #expect(try await write(.update, ["roles": .list([.int64(1)], of: .int64)], as: mia) == "ACCESS_DENIED")
        #expect(try await write(.forceDelete, [:], as: mia) == "ACCESS_DENIED")
        #expect(try await write(.update, ["nickname": .string("Mi")], as: mia) == "saved")
        let after = try await bench.lookup(Self.mia, in: .defaultZone, as: mia)[0].record
        #expect(after?.fields["nickname"]?.value == .string("Mi"))
        #expect(after?.recordChangeTag != "0")
        let made = try await bench.modify(
            RecordOperation(.create, Record(recordName: "x", recordType: "Users")), in: .defaultZone, as: mia)
        #expect(made[0].error?.code == .badRequest || made[0].error?.code == .accessDenied)
    }

    @Test func onlyTheOperatorSetsGrants() async throws {
        let bench = try Bench()
        for who in Who.allCases where who != .operator {
            let refused = await refusal {
                try await bench.write(Self.call(who, bench)) { try $0.roles.setGrants(.standard, ofType: "Plant", in: $1, $2) }
            }
            #expect(refused?.code == .accessDenied)
        }
        let worldWrites = await refusal {
            try await bench.write(Self.call(.operator, bench)) {
                try $0.roles.setGrants(SecurityGrants(byRole: ["_world": [.read, .write]]), ofType: "Plant", in: $1, $2)
            }
        }
        #expect(worldWrites?.code == .badRequest)
    }
}
