// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
@testable import CloudMirroring
import CloudWire
import CoreData
import Crypto
import Foundation
import MirroringCore
import TestBasics
import Testing

/// A new device gets the user's encryption keys from another one, over a server that neither trusts.
@Suite(.closesFixtures) struct DeviceApprovalTests {
    private static let place = ApprovalPlace(container: "iCloud.org.example.notes", user: "_mia")

    private static func code(_ requester: ApprovalRequester) -> String? {
        switch requester.state {
        case .comparing(let transcript), .confirmed(let transcript): transcript.code
        case .waitingForOffer, .approved, .failed: nil
        }
    }

    private static func code(_ responder: ApprovalResponder) -> String? {
        if case .comparing(let transcript) = responder.state { transcript.code } else { nil }
    }

    private static func approved(_ responder: inout ApprovalResponder) throws -> [UInt8] {
        let sealed = try responder.approve(keys: "the keys\n")
        return try #require(sealed?.first)
    }

    private static func keys(_ requester: ApprovalRequester) -> String? {
        if case .approved(let keys) = requester.state { keys } else { nil }
    }

    /// Two devices with the codes to compare, and the server's changes on the way.
    private static func exchange(
        request: (inout ApprovalMessage.Request) -> Void = { _ in }, offer: (inout ApprovalMessage.Offer) -> Void = { _ in },
        reveal: (inout ApprovalMessage.Reveal) -> Void = { _ in }, user: String = "_mia"
    ) -> (new: ApprovalRequester, old: ApprovalResponder) {
        var new = ApprovalRequester(deviceName: "phone", place: place, now: 5)
        var arrived = new.request
        request(&arrived)
        var old = ApprovalResponder(answering: arrived, place: ApprovalPlace(container: place.container, user: user))
        var sent = old.offer
        offer(&sent)
        if var revealed = new.handle(sent) {
            reveal(&revealed)
            old.handle(revealed)
        }
        return (new, old)
    }

    @Test func devicesThatReachEachOtherShowOneCodeAndOnlyTheyHaveTheKeys() throws {
        var (new, old) = Self.exchange()
        let code = try #require(Self.code(new))
        #expect(code == Self.code(old))
        #expect(code.wholeMatch(of: /\d{4} \d{4}/) != nil)
        let sealed = try Self.approved(&old)
        #expect(Data(sealed).firstRange(of: Data("the keys".utf8)) == nil)
        new.handle(keys: sealed)
        #expect(Self.keys(new) == nil, "keys are not taken before the user confirmed the code here")
        new.confirm()
        new.handle(keys: sealed)
        #expect(Self.keys(new) == "the keys\n")
    }

    @Test func codesDiffer() {
        #expect(Set((0..<50).compactMap { _ in Self.code(Self.exchange().new) }).count == 50)
    }

    /// The server takes the place of both devices, with keys of its own: the codes differ.
    @Test func substitutedKeysShowInTheCodes() throws {
        var attacker = ApprovalRequester(deviceName: "phone", place: Self.place, now: 5)
        var old = ApprovalResponder(answering: attacker.request, place: Self.place)
        var new = ApprovalRequester(deviceName: "phone", place: Self.place, now: 5)
        var fake = ApprovalResponder(answering: new.request, place: Self.place)
        guard let first = new.handle(fake.offer), let second = attacker.handle(old.offer) else {
            Issue.record("each side answers the first offer")
            return
        }
        fake.handle(first)
        old.handle(second)
        let shown = try (#require(Self.code(new)), #require(Self.code(old)))
        #expect(shown.0 != shown.1)
        // Without a confirmed code, the attacker's keys are not taken.
        new.handle(keys: try Self.approved(&fake))
        #expect(Self.keys(new) == nil)
        // Nor does the attacker get the new device's to open what is meant for the attacker's own key.
        new.confirm()
        new.handle(keys: try Self.approved(&old))
        #expect(Self.keys(new) == nil)
    }

    @Test func changedMessagesShow() {
        let other = Curve25519.KeyAgreement.PrivateKey().publicKey.rawRepresentation
        for (name, pair) in [
            ("offer's key", Self.exchange(offer: { $0.publicKey = Array(other) })),
            ("offer's nonce", Self.exchange(offer: { $0.nonce[0] ^= 1 })),
            ("device's name", Self.exchange(request: { $0.deviceName = "tablet" })), ("user", Self.exchange(user: "_bo")),
        ] {
            #expect(Self.code(pair.old) != nil, "\(name)")
            #expect(Self.code(pair.new) != Self.code(pair.old), "\(name)")
        }
    }

    /// The new device is bound to its key before it sees the other's nonce: a server that searches for equal codes cannot choose.
    @Test func theCommitmentBindsTheNewDevice() {
        let other = Curve25519.KeyAgreement.PrivateKey().publicKey.rawRepresentation
        for pair in [
            Self.exchange(reveal: { $0.publicKey = Array(other) }), Self.exchange(reveal: { $0.nonce[0] ^= 1 }),
            Self.exchange(request: { $0.commitment[0] ^= 1 }),
        ] {
            #expect(Self.code(pair.old) == nil)
            if case .failed = pair.old.state { continue }
            Issue.record("a reveal that does not open the commitment ends the exchange")
        }
    }

    @Test func aSecondOfferIsNotTaken() throws {
        var (new, _) = Self.exchange()
        let code = Self.code(new)
        let answer = new.handle(ApprovalResponder(answering: new.request, place: Self.place).offer)
        #expect(answer == nil)
        #expect(Self.code(new) == code)
    }

    @Test func changedKeysEndTheExchange() throws {
        var (new, old) = Self.exchange()
        var sealed = try Self.approved(&old)
        sealed[20] ^= 1
        new.confirm()
        new.handle(keys: sealed)
        #expect(Self.keys(new) == nil)
        if case .failed = new.state {} else { Issue.record("keys that do not open end the exchange") }
    }

    @Test func partsHaveAllKeysAndTheirNumber() throws {
        let keys = (0..<40).map { "key \($0)\n" }.joined()
        #expect(ApprovalParts.parts(of: keys) == [keys])
        #expect(ApprovalParts.count(first: keys) == 1)
        let parts = ApprovalParts.parts(of: keys, bytesMax: 50)
        #expect(parts.count == 6)
        #expect(ApprovalParts.count(first: parts[0]) == 6)
        #expect(parts.joined() == "# parts: 6\n" + keys)
        #expect(ApprovalParts.count(first: "# parts: 65\n") == nil)
        #expect(ApprovalParts.count(first: "# parts: -1\n") == nil)
        #expect(ApprovalParts.count(first: "# parts: x") == nil)
    }

    /// The server returns the parts in another order, or one of them twice.
    @Test func aPartOpensAtItsNumberOnly() throws {
        var (new, old) = Self.exchange()
        let sealed = try old.approve(keys: String(repeating: "a key\n", count: 60_000))
        let parts = try #require(sealed)
        #expect(parts.count == 3)
        #expect(new.opened(parts[1], number: 2) == nil, "the user has not confirmed the code")
        new.confirm()
        #expect(new.opened(parts[1], number: 2)?.hasPrefix("a key\n") == true)
        #expect(new.opened(parts[1], number: 3) == nil)
        #expect(new.opened(parts[0], number: 2) == nil)
    }

    @Test func aKnownSharedSecretIsNotTaken() {
        var new = ApprovalRequester(deviceName: "", place: Self.place, now: 0)
        // A point of small order: the shared secret would be known.
        _ = new.handle(ApprovalMessage.Offer(publicKey: [UInt8](repeating: 0, count: 32), nonce: [UInt8](repeating: 0, count: 32)))
        new.confirm()
        new.handle(keys: [UInt8](repeating: 0, count: 40))
        if case .failed = new.state {} else { Issue.record("no keys from such a key") }
    }

    // MARK: Two devices and a server

    @Test(.timeLimit(.minutes(10))) func aNewDeviceReadsAfterTheApproval() async throws {
        let stage = try await HostileStage()
        let theirs = EncryptedPosts.keyFile()
        let tablet = try await stage.device("tablet 2"), phone = try await stage.device("phone", keys: theirs)
        try tablet.edit { $0.insert("Post", ["title": "Trip", "content": "the sea"]) }
        for device in [tablet, phone] { try await device.sync() }
        #expect(try phone.unreadable == ["content missingKey"])
        #expect(try await tablet.container.pendingEncryptionKeyRequest(for: tablet.store) == nil)

        let request = try await phone.container.requestEncryptionKeys(for: phone.store, deviceName: "Mia's phone")
        #expect(try await request.refresh() == .waiting)
        #expect(try await phone.container.pendingEncryptionKeyRequest(for: phone.store) == nil, "a device without keys approves nothing")
        let approval = try #require(try await tablet.container.pendingEncryptionKeyRequest(for: tablet.store))
        #expect(approval.deviceName == "Mia's phone")
        #expect(try await approval.refresh() == .waiting)
        await #expect(throws: CocoaError.self) { try await approval.approve() }
        guard case .compare(let code) = try await request.refresh() else {
            Issue.record("the new device shows a code")
            return
        }
        #expect(try await approval.refresh() == .compare(code: code))
        try await approval.approve()
        #expect(try await request.refresh() == .compare(code: code), "the user has not compared the codes here")
        await request.confirm()
        #expect(try await request.refresh() == .approved)
        try await phone.sync()
        #expect(try phone.unreadable == [])
        #expect(try phone.text("content", of: "Trip") == "the sea")
        #expect(try phone.container.encryptionKeyText(of: phone.store) == tablet.container.encryptionKeyText(of: tablet.store))
        #expect(try await tablet.container.pendingEncryptionKeyRequest(for: tablet.store) == nil, "the exchange is deleted")
    }

    /// A key of a share is a line of about 120 bytes. One record has room for those of 8,000 shares, and earlier versions took 1,500.
    @Test(.timeLimit(.minutes(10))) func keysOfManySharesAreSentInParts() async throws {
        let stage = try await HostileStage()
        let theirs = EncryptedPosts.keyFile()
        let tablet = try await stage.device("tablet 2"), phone = try await stage.device("phone", keys: theirs)
        let lines = (0..<1_700).map { number in
            let key = Data((0..<32).map { UInt8(truncatingIfNeeded: number >> (8 * ($0 % 2))) }).base64EncodedString()
            return "tarn-key-3:\(MirrorNames.shareZonePrefix)\(UUID().uuidString):1:\(key)"
        }
        try tablet.container.addEncryptionKeys(lines.joined(separator: "\n"), to: tablet.store)
        try tablet.edit { $0.insert("Post", ["title": "Trip", "content": "the sea"]) }
        for device in [tablet, phone] { try await device.sync() }

        let request = try await phone.container.requestEncryptionKeys(for: phone.store, deviceName: "phone")
        let approval = try #require(try await tablet.container.pendingEncryptionKeyRequest(for: tablet.store))
        _ = try await request.refresh()
        _ = try await approval.refresh()
        await request.confirm()
        try await approval.approve()
        #expect(try await request.refresh() == .approved)
        try await phone.sync()
        #expect(try phone.text("content", of: "Trip") == "the sea")
        #expect(try phone.container.encryptionKeyText(of: phone.store) == tablet.container.encryptionKeyText(of: tablet.store))
    }

    @Test(.timeLimit(.minutes(10))) func aRefusalEndsTheRequest() async throws {
        let stage = try await HostileStage()
        let theirs = EncryptedPosts.keyFile()
        let tablet = try await stage.device("tablet 2"), phone = try await stage.device("phone", keys: theirs)
        try tablet.edit { $0.insert("Post", ["title": "Trip", "content": "the sea"]) }
        for device in [tablet, phone] { try await device.sync() }
        let request = try await phone.container.requestEncryptionKeys(for: phone.store, deviceName: "phone")
        try await #require(try await tablet.container.pendingEncryptionKeyRequest(for: tablet.store)).refuse()
        #expect(try await request.refresh() == .failed)
        let second = try await phone.container.requestEncryptionKeys(for: phone.store, deviceName: "phone")
        let third = try await phone.container.requestEncryptionKeys(for: phone.store, deviceName: "phone")
        #expect(try await second.refresh() == .failed, "a later request takes its place")
        #expect(try await third.refresh() == .waiting)
        try await second.cancel()
        #expect(try await third.refresh() == .waiting, "the end of an earlier request is not that of a later one")
        try await third.cancel()
        #expect(try await third.refresh() == .failed)
        #expect(try await tablet.container.pendingEncryptionKeyRequest(for: tablet.store) == nil, "a cancelled request is deleted")
        await #expect(throws: CocoaError.self) {
            _ = try await phone.container.requestEncryptionKeys(for: phone.store, deviceName: String(repeating: "x", count: 201))
        }
        #expect(!FileManager.default.fileExists(atPath: theirs.path), "the phone never got a key")
    }
}

extension Device {
    fileprivate var store: NSPersistentStore { container.persistentStoreCoordinator.persistentStores[0] }
}
