// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import MirroringCore
public import ObjectGraph
import SystemSupport

/// The request of a device for the user's encryption keys, on that device.
///
///     let request = try await phone.requestEncryptionKeys(for: store, deviceName: "Mia's phone")
///     while case .waiting = try await request.refresh() { try await Task.sleep(for: .seconds(1)) }
///     guard case .compare(let code) = await request.state else { … }
///     // Show the code. The user looks whether the other device shows the same one.
///     await request.confirm()
///     while try await request.refresh() != .approved { try await Task.sleep(for: .seconds(1)) }
///
/// Differs: Apple's devices approve each other in the system, with the iCloud keychain.
public actor EncryptionKeyRequest {
    /// The state of the exchange with the other device.
    public enum State: Hashable, Sendable {
        /// No device has answered.
        case waiting
        /// The eight digits that the other device has to show, too, in two groups. ``EncryptionKeyRequest/confirm()`` follows.
        case compare(code: String)
        /// The user confirmed the code here; the other device has not sent the keys.
        case confirmed
        /// The keys are added, and the values that waited for them are decrypted.
        case approved
        /// The other device refused, a later request took this one's place, or the messages were changed on their way.
        case failed
    }

    private let mailbox: ApprovalMailbox
    private var machine: ApprovalRequester
    private let add: @Sendable (String) throws -> Void

    init(mailbox: ApprovalMailbox, machine: ApprovalRequester, add: @escaping @Sendable (String) throws -> Void) {
        self.mailbox = mailbox
        self.machine = machine
        self.add = add
    }

    /// The state after the last ``refresh()``.
    public var state: State {
        switch machine.state {
        case .waitingForOffer: .waiting
        case .comparing(let transcript): .compare(code: transcript.code)
        case .confirmed: .confirmed
        case .approved: .approved
        case .failed: .failed
        }
    }

    /// Fetches the other device's messages, and answers them. Call it about once a second.
    ///
    /// - Throws: `CKError` for a request that failed; the next call retries it. `CocoaError` if the keys cannot be stored.
    @discardableResult
    public func refresh() async throws -> State {
        switch machine.state {
        case .approved, .failed: return state
        case .waitingForOffer, .comparing, .confirmed: break
        }
        do {
            guard let content = try await mailbox.read(), content.request == machine.request, !content.isRefused, !content.hasInvalidKeys
            else {
                machine.end()
                return state
            }
            if let offer = content.offer, content.reveal == nil, let reveal = machine.handle(offer) {
                try await mailbox.add(reveal, to: content)
            }
            if let keys = content.keys { try await handle(keys) }
        } catch {
            throw NSPersistentCloudKitContainer.told(error)
        }
        return state
    }

    /// - Parameter keys: The first part of the keys.
    private func handle(_ keys: [UInt8]) async throws {
        var next = machine
        next.handle(keys: keys)
        guard case .approved(var text) = next.state else { return machine = next }
        guard let count = ApprovalParts.count(first: text) else { return machine.end() }
        for number in 1...count where number > 1 {
            guard let part = try await mailbox.part(number: number), let opened = machine.opened(part, number: number) else {
                return machine.end()
            }
            text += opened
        }
        // The app may have cancelled the request.
        guard case .confirmed = machine.state else { return }
        // Keys that cannot be stored are fetched again by the next call.
        try add(text)
        machine = next
        try await mailbox.end(machine.request)
        try await mailbox.removeParts(count: count)
    }

    /// The user saw the same code on both devices. Keys that arrived are not used before.
    public func confirm() { machine.confirm() }

    /// Ends the request, for example if the codes differ: then the server changed the messages. A later request goes on.
    ///
    /// - Throws: `CKError` if the server could not be told; the keys are not taken in any case.
    public func cancel() async throws {
        machine.end()
        do { try await mailbox.end(machine.request) } catch { throw NSPersistentCloudKitContainer.told(error) }
    }
}

/// The request of another device for the user's encryption keys, on a device that has them.
///
///     if let approval = try await tablet.pendingEncryptionKeyRequest(for: store) {
///         while case .waiting = try await approval.refresh() { try await Task.sleep(for: .seconds(1)) }
///         guard case .compare(let code) = await approval.state else { … }
///         // Show the code and the device's name. If the other device shows the same code:
///         try await approval.approve()
///     }
public actor EncryptionKeyApproval {
    /// The state of the exchange with the other device.
    public enum State: Hashable, Sendable {
        /// The other device has not answered.
        case waiting
        /// The eight digits that the other device has to show, too, in two groups.
        case compare(code: String)
        /// The keys were sent.
        case approved
        /// The user refused, a later request took this one's place, or the messages were changed on their way.
        case failed
    }

    /// The name that the other device gave itself. Anybody with control of the server can choose it.
    public nonisolated let deviceName: String

    private let mailbox: ApprovalMailbox
    private var machine: ApprovalResponder
    private let keys: @Sendable () throws -> String

    init(mailbox: ApprovalMailbox, machine: ApprovalResponder, keys: @escaping @Sendable () throws -> String) {
        deviceName = machine.request.deviceName
        self.mailbox = mailbox
        self.machine = machine
        self.keys = keys
    }

    /// The state after the last ``refresh()``.
    public var state: State {
        switch machine.state {
        case .waitingForReveal: .waiting
        case .comparing(let transcript): .compare(code: transcript.code)
        case .approved: .approved
        case .failed: .failed
        }
    }

    /// Fetches the other device's message. Call it about once a second.
    ///
    /// - Throws: `CKError` for a request that failed; the next call retries it.
    @discardableResult
    public func refresh() async throws -> State {
        guard case .waitingForReveal = machine.state else { return state }
        do {
            // The offer of this device is replaced by that of a second one that answers at the same time.
            guard let content = try await mailbox.read(), content.request == machine.request, content.offer == machine.offer else {
                machine.refuse()
                return state
            }
            if let reveal = content.reveal { machine.handle(reveal) }
        } catch {
            throw NSPersistentCloudKitContainer.told(error)
        }
        return state
    }

    /// Sends the keys, encrypted for the other device. Call it only if the user saw the same code on both devices.
    ///
    /// - Throws: `CocoaError` without a code to compare, or for a key file that cannot be read; `CKError` if the keys could not be sent.
    public func approve() async throws {
        do {
            var next = machine
            guard let content = try await mailbox.read(), content.request == machine.request,
                let sealed = try next.approve(keys: try keys())
            else {
                throw CocoaError(.persistentStoreOperation, sentence: "There is no code to compare: refresh the approval first.")
            }
            guard let first = sealed.first, sealed.count <= ApprovalParts.countMax else {
                throw CocoaError(
                    .persistentStoreOperation,
                    sentence:
                        "There are more keys than an approval sends: add them with encryptionKeyText(of:) and addEncryptionKeys(_:to:).")
            }
            for (index, part) in sealed.enumerated().dropFirst() { try await mailbox.save(part, number: index + 1) }
            try await mailbox.add(keys: first, to: content)
            machine = next
        } catch {
            throw NSPersistentCloudKitContainer.told(error)
        }
    }

    /// Refuses the request, for example if the codes differ: then the server changed the messages.
    ///
    /// - Throws: `CKError` if the other device could not be told; no key is sent in any case.
    public func refuse() async throws {
        machine.refuse()
        do {
            if let content = try await mailbox.read(), content.request == machine.request { try await mailbox.refuse(content) }
        } catch {
            throw NSPersistentCloudKitContainer.told(error)
        }
    }
}

extension NSPersistentCloudKitContainer {
    /// Asks the user's other devices for the keys of encrypted attributes. The user compares a code on both devices, which shows that the
    /// server did not take the place of one of them. A later request of any device ends this one.
    ///
    /// - Parameters:
    ///   - store: A synced store of the private database.
    ///   - deviceName: Shown on the other device, at most 200 bytes of UTF-8.
    /// - Throws: `CocoaError` for a store that is not synced with the private database, or a name that is too long; `CKError` for a request
    ///   that failed.
    ///
    /// Differs: Apple's container has no such call.
    public func requestEncryptionKeys(for store: NSPersistentStore, deviceName: String) async throws -> EncryptionKeyRequest {
        guard deviceName.utf8.count <= ApprovalMessage.nameBytesMax else {
            throw CocoaError(.persistentStoreOperation, sentence: "The device's name has over \(ApprovalMessage.nameBytesMax) bytes.")
        }
        let mirror = try synced(store)
        let (mailbox, place) = try await approvalMailbox(mirror)
        let machine = ApprovalRequester(
            deviceName: deviceName, place: place, now: Int64(environment.now().timeIntervalSince1970 * 1000))
        do { try await mailbox.begin(machine.request) } catch { throw Self.told(error) }
        return EncryptionKeyRequest(mailbox: mailbox, machine: machine) { text in
            try mirror.cloud.sealer.keys.add(text)
            mirror.send(.pushArrived)
        }
    }

    /// Returns the request of another device of the user for the keys of encrypted attributes, and answers it. Requests are valid for ten
    /// minutes.
    ///
    /// Call it at most once a second, while the user waits for a request: each answer is an attempt of a malicious server to meet a code.
    ///
    /// - Parameter store: A synced store of the private database.
    /// - Returns: Nil without a request that no device has answered, and on a device without keys.
    /// - Throws: `CocoaError` for a store that is not synced with the private database; `CKError` for a request that failed.
    public func pendingEncryptionKeyRequest(for store: NSPersistentStore) async throws -> EncryptionKeyApproval? {
        let mirror = try synced(store)
        let keys = mirror.cloud.sealer.keys
        guard try !keys.text().isEmpty else { return nil }
        let (mailbox, place) = try await approvalMailbox(mirror)
        do {
            let now = Int64(environment.now().timeIntervalSince1970 * 1000)
            guard let content = try await mailbox.read(), content.offer == nil, !content.isRefused,
                (now - Self.approvalMilliseconds...now + Self.approvalMilliseconds).contains(content.request.time)
            else { return nil }
            let machine = ApprovalResponder(answering: content.request, place: place)
            try await mailbox.add(machine.offer, to: content)
            return EncryptionKeyApproval(mailbox: mailbox, machine: machine) { try keys.text() }
        } catch {
            throw Self.told(error)
        }
    }

    private static var approvalMilliseconds: Int64 { 600_000 }

    private func approvalMailbox(_ mirror: StoreSync) async throws -> (ApprovalMailbox, ApprovalPlace) {
        guard mirror.file.scope == .private else {
            throw CocoaError(.persistentStoreOperation, sentence: "Keys are requested and approved with the store of the private database.")
        }
        do {
            let database = try mirror.cloud.open()
            let caller = try await database.client.callerIdentity()
            let place = ApprovalPlace(container: mirror.file.containerIdentifier, user: caller.userRecordName)
            return (ApprovalMailbox(client: database.client, makeName: environment.makeName), place)
        } catch {
            throw Self.told(error)
        }
    }
}
