// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import ServiceFixtures
import StorageFixtures
import Testing

/// Administrative operations as values.
@Suite struct AdminOperationTests {
    private static func decoded<Message: FlatMessage>(_ message: Message) throws -> Message {
        try Message(FlatObject(json: message.object.encoded()))
    }

    private static let operations: [any AdminOperation] = [
        ListUsers(), ListUsers(after: "mia"), AddUser(account: "mia", device: "phone \"1\""),
        RemoveUser(account: "mia", publicRecords: .keep),
        ListAccesses(account: "mia"), RevokeDevice(account: "mia", device: .label("phone")),
        RevokeDevice(account: "mia", device: .id("a1")),
        EndSessions(account: "mia", id: nil), EndSessions(account: "mia", id: "5f0a"), SetQuota(account: "mia", bytes: nil),
        SetQuota(account: "mia", bytes: 0), ExportSchema(container: "a.b", environment: .production),
        ValidateSchema(container: "a.b", schema: SchemaText("DEFINE SCHEMA RECORD TYPE Page (title STRING);")),
        ImportSchema(container: "a.b", schema: SchemaText("DEFINE\nSCHEMA;"), deletesValues: true), CompareSchemas(container: "a.b"),
        DeploySchema(container: "a.b"), ListCredentials(),
        AddToken(
            container: "a.b", environment: .development, label: "site", callback: "https://a.example", origins: ["https://b.example"],
            days: 30),
        AddToken(container: "a.b", environment: .development, label: "site", callback: nil, origins: [], days: nil), RemoveToken(id: 7),
        ListZones(account: "mia", container: "a.b", environment: .development),
        CreateZone(account: "mia", container: "a.b", environment: .production, zone: "Rose \"Garden\""),
    ]

    @Test func actsAreEncodedAndDecoded() throws {
        func check<Operation: AdminOperation>(_ operation: Operation) throws { #expect(try Self.decoded(operation) == operation) }
        for operation in Self.operations {
            try check(operation)
            let name = type(of: operation).name
            #expect(AdminOperations.named(name) != nil, "\(name)")
        }
        #expect(Set(Self.operations.map { type(of: $0).name }) == Set(AdminOperations.all.map { $0.name }))
    }

    @Test func responsesAreEncodedAndDecoded() throws {
        let users = UserList(users: [Account(name: "mia", devices: ["phone", "x"]), Account(name: "bo", devices: [])], next: "bo")
        #expect(try Self.decoded(users) == users)
        let use = CredentialUse(time: 7, network: "192.0.2.1", platform: "tarn")
        let accesses = AccessList([
            AccountAccess(kind: .device(label: "phone", expires: 5), id: "a", began: 1, lastUse: use),
            AccountAccess(kind: .device(label: "", expires: nil), id: "b", began: 2, lastUse: nil),
            AccountAccess(kind: .session(.console, deviceID: nil), id: "c", began: 3, lastUse: nil),
            AccountAccess(kind: .session(.container("a.b"), deviceID: "a"), id: "d", began: 4, lastUse: use),
            AccountAccess(kind: .session(.consent(containerIdentifier: "a.b", until: 9), deviceID: nil), id: "e", began: 5, lastUse: nil),
        ])
        #expect(try Self.decoded(accesses) == accesses)
        var report = RemovalReport()
        (report.zones, report.recordsAnonymized) = (2, 3)
        #expect(try Self.decoded(RemovalProgress(report)).report == report)
        #expect(try Self.decoded(RemovalProgress(nil)).report == nil)
        let changes = SchemaChanges([.addedType("Note"), .removedType("Memo")], isMade: true)
        #expect(try Self.decoded(changes) == changes)
        #expect(changes.changes.map(\.removesValues) == [false, true])
        let zones = ZoneList(zones: [])
        #expect(try Self.decoded(zones) == zones)
        for isNew in [true, false] { #expect(try Self.decoded(CreatedZone(isNew: isNew)).isNew == isNew) }
    }

    @Test func anActWithoutAMemberIsInvalid() throws {
        #expect(throws: WireError.self) { try AddUser(FlatObject(json: Array(#"{"user":"mia"}"#.utf8))) }
        #expect(throws: WireError.self) { try AddUser(FlatObject(json: Array(#"{"user":"mia","device":3}"#.utf8))) }
        #expect(throws: WireError.self) { try FlatObject(json: Array("[]".utf8)) }
        let ignored = try AddUser(FlatObject(json: Array(#"{"user":"mia","device":"x","more":{"a":[1]},"none":null}"#.utf8)))
        #expect(ignored == AddUser(account: "mia", device: "x"))
    }

    @Test func accountsAreListedInPages() async throws {
        let village = try Village()
        let names = (0..<502).map { "n\(1000 + $0)" }
        for name in names { _ = try await village.store.addUser(name: name, deviceLabel: "phone", now: 0) }
        let context = AdminContext(service: village.service, storage: village.store)
        let first = try await ListUsers().perform(in: context)
        #expect(first.users.map(\.name) == Array(names.prefix(500)))
        let second = try await ListUsers(after: first.next).perform(in: context)
        #expect(second.users == names.suffix(2).map { Account(name: $0, devices: ["phone"]) })
        #expect(second.next == nil)
    }

    @Test func anImportThatDeletesValuesNeedsAConfirmation() async throws {
        let village = try Village()
        let mia = try await village.villager("mia")
        try await mia.modify([RecordOperation(.create, .plant("p1"))])
        let context = AdminContext(service: village.service, storage: village.store)
        let empty = SchemaText("DEFINE SCHEMA RECORD TYPE Page (title STRING);")
        let asked = try await ImportSchema(container: Village.container, schema: empty, deletesValues: false).perform(in: context)
        #expect(!asked.isMade)
        #expect(asked.removals == ["1 record of type Plant"])
        #expect(try await mia.lookup("p1")[0].record != nil)
        let made = try await ImportSchema(container: Village.container, schema: empty, deletesValues: true).perform(in: context)
        #expect(made.isMade)
        #expect(try await mia.lookup("p1")[0].record == nil)
    }
}
