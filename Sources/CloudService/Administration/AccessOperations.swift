// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Lists the devices and web sessions of an account.
package struct ListAccesses: AdminOperation {
    package static let name = "user.sessions"

    package var account: String

    package init(account: String) { self.account = account }
    package init(_ object: FlatObject) throws(WireError) { account = try object.text("user") }
    package var object: FlatObject { ["user": .text(account)] }
    package var subject: String { account }
    package var user: String? { account }

    package func perform(in context: AdminContext) async throws -> AccessList {
        AccessList(try await context.storage.accesses(ofUser: account))
    }
}

package struct AccessList: FlatMessage {
    package var accesses: [AccountAccess]

    package init(_ accesses: [AccountAccess]) { self.accesses = accesses }

    package init(_ object: FlatObject) throws(WireError) {
        accesses = []
        for access in object.objects("accesses") { accesses.append(try Self.access(access)) }
    }

    package var object: FlatObject { ["accesses": .objects(accesses.map(Self.row))] }

    private static func access(_ object: FlatObject) throws(WireError) -> AccountAccess {
        let kind: AccountAccess.Kind =
            if let label = object.optionalText("label") {
                .device(label: label, expires: object.optionalNumber("expires"))
            } else {
                .session(SessionUse(try object.text("use")), deviceID: object.optionalText("device"))
            }
        var use: CredentialUse?
        if let time = object.optionalNumber("used") {
            use = CredentialUse(time: time, network: object.optionalText("network") ?? "", platform: object.optionalText("platform") ?? "")
        }
        return AccountAccess(kind: kind, id: try object.text("id"), began: try object.number("began"), lastUse: use)
    }

    private static func row(_ access: AccountAccess) -> FlatObject {
        let (label, expires, use, device): (String?, Int64?, String?, String?) =
            switch access.kind {
            case .device(let label, let expires): (label, expires, nil, nil)
            case .session(let use, let device): (nil, nil, use.text, device)
            }
        return [
            "id": .text(access.id), "began": .number(access.began), "label": label.map(FlatObject.Member.text),
            "expires": expires.map(FlatObject.Member.number), "use": use.map(FlatObject.Member.text),
            "device": device.map(FlatObject.Member.text), "used": access.lastUse.map { FlatObject.Member.number($0.time) },
            "network": access.lastUse.map { FlatObject.Member.text($0.network) },
            "platform": access.lastUse.map { FlatObject.Member.text($0.platform) },
        ]
    }
}

/// Revokes the tokens of an account's devices.
package struct RevokeDevice: AdminOperation {
    package static let name = "user.revoke"

    package enum Device: Hashable, Sendable {
        /// All devices of a label.
        case label(String)
        case id(String)
    }

    package var account: String
    package var device: Device

    package init(account: String, device: Device) {
        self.account = account
        self.device = device
    }

    package init(_ object: FlatObject) throws(WireError) {
        account = try object.text("user")
        device = if let label = object.optionalText("label") { .label(label) } else { .id(try object.text("id")) }
    }

    package var object: FlatObject {
        switch device {
        case .label(let label): ["user": .text(account), "label": .text(label)]
        case .id(let id): ["user": .text(account), "id": .text(id)]
        }
    }

    package var subject: String {
        switch device {
        case .label(let name), .id(let name): "\(account), \(name)"
        }
    }

    package var user: String? { account }

    package func checkKey(of owner: String, in context: AdminContext) async throws {
        try await context.refuse(ifOperator: account, except: owner, step: "revoke the device in the console or on the server's machine.")
    }

    package func perform(in context: AdminContext) async throws -> EmptyResponse {
        switch device {
        case .label(let label): try await context.storage.removeDevice(labelled: label, ofUser: account)
        case .id(let id): try await context.storage.removeDevice(id: id, ofUser: account)
        }
        await context.service.revocations.endRevokedListeners()
        return EmptyResponse()
    }
}

/// Ends web sessions of an account.
package struct EndSessions: AdminOperation {
    package static let name = "user.sign-out"

    package var account: String
    /// Nil ends all.
    package var id: String?

    package init(account: String, id: String?) {
        self.account = account
        self.id = id
    }

    package init(_ object: FlatObject) throws(WireError) {
        account = try object.text("user")
        id = object.optionalText("id")
    }

    package var object: FlatObject { ["user": .text(account), "id": id.map(FlatObject.Member.text)] }
    package var subject: String { account + (id.map { ", \($0)" } ?? "") }
    package var user: String? { account }

    package func checkKey(of owner: String, in context: AdminContext) async throws {
        try await context.refuse(ifOperator: account, except: owner, step: "end its sessions in the console or on the server's machine.")
    }

    package func perform(in context: AdminContext) async throws -> EmptyResponse {
        try await context.storage.endSessions(ofUser: account, id: id)
        await context.service.revocations.endRevokedListeners()
        return EmptyResponse()
    }
}
