// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudWire

/// A page of accounts by name.
package struct ListUsers: AdminOperation {
    package static let name = "user.list"
    static let usersPerPage = 500

    /// The last name of the page before.
    package var after: String?

    package init(after: String? = nil) { self.after = after }
    package init(_ object: FlatObject) throws(WireError) { after = object.optionalText("after") }
    package var object: FlatObject { ["after": after.map(FlatObject.Member.text)] }
    package var subject: String { "server" }

    package func perform(in context: AdminContext) async throws -> UserList {
        let cursor: AccountCursor = if let after { .after(after) } else { .start }
        let names = try await context.storage.profiles(named: "", cursor, limit: Self.usersPerPage).map(\.accountName)
        let next = names.count == Self.usersPerPage ? names.last : nil
        return UserList(users: names.isEmpty ? [] : try await context.storage.users(named: names), next: next)
    }
}

package struct UserList: FlatMessage {
    package var users: [Account]
    /// The name after which the next page begins; nil for the last page.
    package var next: String?

    package init(users: [Account], next: String?) {
        self.users = users
        self.next = next
    }

    package init(_ object: FlatObject) throws(WireError) {
        users = []
        for user in object.objects("users") { users.append(Account(name: try user.text("name"), devices: user.texts("devices"))) }
        next = object.optionalText("next")
    }

    package var object: FlatObject {
        [
            "users": .objects(users.map { user -> FlatObject in ["name": .text(user.name), "devices": .texts(user.devices)] }),
            "next": next.map(FlatObject.Member.text),
        ]
    }
}

/// Makes an account. The response has the token of its first device.
package struct AddUser: AdminOperation {
    package static let name = "user.add"

    package var account: String
    package var device: String

    package init(account: String, device: String) {
        self.account = account
        self.device = device
    }

    package init(_ object: FlatObject) throws(WireError) {
        account = try object.text("user")
        device = try object.text("device")
    }

    package var object: FlatObject { ["user": .text(account), "device": .text(device)] }
    package var subject: String { account }
    package var user: String? { account }

    package func perform(in context: AdminContext) async throws -> NewSecret {
        guard AccountName.isValid(account) else { throw WireError(.badRequest, AccountName.rule) }
        guard (1...64).contains(device.count) else { throw WireError(.badRequest, "A label has 1 to 64 characters.") }
        return NewSecret(try await context.storage.addUser(name: account, deviceLabel: device, now: context.service.now))
    }
}

/// Removes an account with everything stored for it.
package struct RemoveUser: AdminOperation {
    package static let name = "user.remove"

    package var account: String
    package var publicRecords: AccountRemoval.PublicRecords

    package init(account: String, publicRecords: AccountRemoval.PublicRecords) {
        self.account = account
        self.publicRecords = publicRecords
    }

    package init(_ object: FlatObject) throws(WireError) {
        account = try object.text("user")
        publicRecords = try object.choice("publicRecords")
    }

    package var object: FlatObject { ["user": .text(account), "publicRecords": .text(publicRecords.rawValue)] }
    package var subject: String { "\(account), public records: \(publicRecords.rawValue)" }
    package var user: String? { account }

    package func checkKey(of owner: String, in context: AdminContext) async throws {
        try await context.refuse(
            ifOperator: account, step: "run 'tarn user profile \(account) --no-operator' on the server's machine first.")
    }

    package func perform(in context: AdminContext) async throws -> RemovalProgress {
        guard let storage = context.storage as? any RemovalStorage else {
            throw WireError(.badRequest, "This server does not remove accounts: run 'tarn user remove' on its data.")
        }
        let (service, account, publicRecords) = (context.service, account, publicRecords)
        guard let removals = context.removals else {
            return RemovalProgress(try await service.userRemoval.run(named: account, publicRecords: publicRecords, storage: storage))
        }
        let number = try await context.storage.account(named: account)
        return RemovalProgress(
            try removals.progress(of: account, number, publicRecords, now: { service.now }) {
                try await service.userRemoval.run(named: account, publicRecords: publicRecords, storage: storage)
            })
    }
}

/// The report of a removal that has ended, or the state of one that runs.
package struct RemovalProgress: FlatMessage {
    /// Nil while it runs.
    package var report: RemovalReport?

    package init(_ report: RemovalReport?) { self.report = report }

    package init(_ object: FlatObject) throws(WireError) {
        guard object.flag("ended") else { return }
        var report = RemovalReport()
        report.zones = Int(clamping: try object.number("zones"))
        report.shares = Int(clamping: try object.number("shares"))
        report.publicRecordsDeleted = Int(clamping: try object.number("publicRecordsDeleted"))
        report.recordsAnonymized = Int(clamping: try object.number("recordsAnonymized"))
        self.report = report
    }

    package var object: FlatObject {
        guard let report else { return ["ended": .flag(false)] }
        return [
            "ended": .flag(true), "zones": .number(Int64(report.zones)), "shares": .number(Int64(report.shares)),
            "publicRecordsDeleted": .number(Int64(report.publicRecordsDeleted)),
            "recordsAnonymized": .number(Int64(report.recordsAnonymized)),
        ]
    }
}

/// Sets the quota of an account's private databases.
package struct SetQuota: AdminOperation {
    package static let name = "user.quota"
    /// 1 PiB.
    private static let bytesMax: Int64 = 1 << 50

    package var account: String
    /// 0 for no limit; nil for the server's default.
    package var bytes: Int64?

    package init(account: String, bytes: Int64?) {
        self.account = account
        self.bytes = bytes
    }

    package init(_ object: FlatObject) throws(WireError) {
        account = try object.text("user")
        bytes = object.optionalNumber("bytes")
    }

    package var object: FlatObject { ["user": .text(account), "bytes": bytes.map(FlatObject.Member.number)] }
    package var subject: String { account }
    package var user: String? { account }

    package func perform(in context: AdminContext) async throws -> EmptyResponse {
        guard (0...Self.bytesMax).contains(bytes ?? 0) else {
            throw WireError(.badRequest, "A quota is a number of bytes up to \(Self.bytesMax), or 0 for no limit.")
        }
        try await context.storage.setQuota(bytes, ofUser: account)
        return EmptyResponse()
    }
}
