// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Crypto
import SystemSupport

/// The identity of an exchange: the container, and the record name of the user who owns both devices.
struct ApprovalPlace: Hashable, Sendable {
    var container: String
    var user: String
}

/// The part of the device without keys. A value without I/O.
struct ApprovalRequester: Sendable {
    enum State: Sendable {
        case waitingForOffer
        /// The offer is fixed: a second one is never taken.
        case comparing(ApprovalTranscript)
        /// The user saw the same code on both devices. Keys that arrive earlier wait: they may be those of a server that took part.
        case confirmed(ApprovalTranscript)
        case approved(keys: String)
        case failed
    }

    let request: ApprovalMessage.Request
    private let place: ApprovalPlace
    private let privateKey: Curve25519.KeyAgreement.PrivateKey
    private let reveal: ApprovalMessage.Reveal
    private(set) var state = State.waitingForOffer

    /// - Parameters:
    ///   - nonce: ``ApprovalMessage/nonceBytes`` random bytes.
    ///   - now: Milliseconds since 1970 UTC.
    init(
        deviceName: String, place: ApprovalPlace, now: Int64, privateKey: Curve25519.KeyAgreement.PrivateKey = .init(),
        nonce: [UInt8] = SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
    ) {
        self.place = place
        self.privateKey = privateKey
        reveal = ApprovalMessage.Reveal(publicKey: Array(privateKey.publicKey.rawRepresentation), nonce: nonce)
        request = ApprovalMessage.Request(deviceName: deviceName, commitment: ApprovalTranscript.commitment(to: reveal), time: now)
    }

    /// - Returns: The message that answers the offer; nil if another one was taken before.
    mutating func handle(_ offer: ApprovalMessage.Offer) -> ApprovalMessage.Reveal? {
        switch state {
        case .waitingForOffer:
            state = .comparing(
                ApprovalTranscript(container: place.container, user: place.user, request: request, offer: offer, reveal: reveal))
            return reveal
        case .comparing(let transcript), .confirmed(let transcript): return transcript.offer == offer ? reveal : nil
        case .approved, .failed: return nil
        }
    }

    /// The user compared the codes on this device.
    mutating func confirm() {
        if case .comparing(let transcript) = state { state = .confirmed(transcript) }
    }

    /// Opens a part of the keys behind the first one.
    ///
    /// - Returns: nil if the user did not confirm the code, and for a part that is not from the device that sent the offer.
    func opened(_ part: [UInt8], number: Int) -> String? {
        guard case .confirmed(let transcript) = state else { return nil }
        return try? ApprovalSeal.open(part, privateKey, from: transcript.offer.publicKey, transcript, part: number)
    }

    /// Takes the first part of the keys, if the user confirmed the code and they are from the device that sent the offer.
    mutating func handle(keys: [UInt8]) {
        guard case .confirmed(let transcript) = state else { return }
        do {
            state = .approved(keys: try ApprovalSeal.open(keys, privateKey, from: transcript.offer.publicKey, transcript))
        } catch {
            state = .failed
        }
    }

    mutating func end() { if case .approved = state {} else { state = .failed } }
}

/// The part of a device with keys. A value without I/O.
struct ApprovalResponder: Sendable {
    enum State: Sendable {
        case waitingForReveal
        case comparing(ApprovalTranscript)
        /// The new device revealed another key than the one that it was bound to, or the user refused.
        case failed
        case approved
    }

    let request: ApprovalMessage.Request
    let offer: ApprovalMessage.Offer
    private let place: ApprovalPlace
    private let privateKey: Curve25519.KeyAgreement.PrivateKey
    private(set) var state = State.waitingForReveal

    init(
        answering request: ApprovalMessage.Request, place: ApprovalPlace, privateKey: Curve25519.KeyAgreement.PrivateKey = .init(),
        nonce: [UInt8] = SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
    ) {
        self.request = request
        self.place = place
        self.privateKey = privateKey
        offer = ApprovalMessage.Offer(publicKey: Array(privateKey.publicKey.rawRepresentation), nonce: nonce)
    }

    /// Opens the commitment.
    mutating func handle(_ reveal: ApprovalMessage.Reveal) {
        guard case .waitingForReveal = state else { return }
        guard ConstantTime.areEqual(ApprovalTranscript.commitment(to: reveal), request.commitment) else { return state = .failed }
        state = .comparing(ApprovalTranscript(container: place.container, user: place.user, request: request, offer: offer, reveal: reveal))
    }

    /// The user compared the codes.
    ///
    /// - Returns: The encrypted keys, in one or several parts; nil unless there is a code to compare.
    /// - Throws: `CryptoKitError` for a public key that is not one.
    mutating func approve(keys: String) throws -> [[UInt8]]? {
        guard case .comparing(let transcript) = state else { return nil }
        let sealed = try ApprovalParts.parts(of: keys).enumerated().map { index, part in
            try ApprovalSeal.seal(part, privateKey, to: transcript.reveal.publicKey, transcript, part: index + 1)
        }
        state = .approved
        return sealed
    }

    mutating func refuse() { if case .approved = state {} else { state = .failed } }
}
