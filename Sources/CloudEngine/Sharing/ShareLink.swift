// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import SystemSupport

/// The last part of the address of a share: the number of a link and a code that makes it unguessable.
struct ShareLink: Hashable, Sendable {
    private static let numberBytes = 8
    private static let codeBytes = 12

    var number: Int64

    init(number: Int64) {
        self.number = number
    }

    func text(by sealer: Sealer) -> String {
        let plain = withUnsafeBytes(of: number.bigEndian) { Array($0) }
        return Hex.text(plain + sealer.code(of: plain, purpose: .shortGUID).prefix(Self.codeBytes))
    }

    /// - Returns: Nil for a text that this server did not make.
    init?(_ text: String, by sealer: Sealer) {
        guard let link = Self(unchecked: text), let bytes = Hex.bytes(text),
            sealer.isCode(
                bytes[Self.numberBytes...], of: Array(bytes[..<Self.numberBytes]), purpose: .shortGUID, bytes: Self.codeBytes)
        else { return nil }
        self = link
    }

    /// The number in a text whose code is not checked: it may have been made with a key that was retired since. Such a link is valid only
    /// if a share has it; see ``isLink(_:to:by:)``.
    init?(unchecked text: String) {
        guard text.utf8.count == 2 * (Self.numberBytes + Self.codeBytes), let bytes = Hex.bytes(text) else { return nil }
        number = Int64(bitPattern: bytes[..<Self.numberBytes].reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
    }

    /// Returns `true` for a text with a valid code, and for the text that the share itself has stored.
    static func isLink(_ text: String, to share: Record, by sealer: Sealer) -> Bool {
        if Self(text, by: sealer) != nil { return true }
        return share.sharing.shortGUID.map { ConstantTime.areEqual($0, text) } ?? false
    }
}

/// The last part of the address by which one participant without a user joins a share: the number of the share's
/// link and a code for this participant alone. It holds as long as the participant is there.
struct OneTimeLink: Hashable, Sendable {
    private static let numberBytes = 8
    private static let codeBytes = 16

    let number: Int64
    private let code: [UInt8]

    init(to link: ShareLink, participantID: String, by sealer: Sealer) {
        number = link.number
        code = Self.code(link.number, participantID, sealer)
    }

    /// - Returns: Nil for an invalid text. ``isFor(_:by:)`` finds the participant.
    init?(_ text: String) {
        guard text.utf8.count == 2 * (Self.numberBytes + Self.codeBytes), let bytes = Hex.bytes(text) else { return nil }
        number = Int64(bitPattern: bytes[..<Self.numberBytes].reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
        code = Array(bytes[Self.numberBytes...])
    }

    var text: String { Hex.text(withUnsafeBytes(of: number.bigEndian) { Array($0) } + code) }

    func isFor(_ participant: ShareParticipant, by sealer: Sealer) -> Bool {
        guard participant.isOneTime, let id = participant.participantID else { return false }
        return sealer.isCode(code, of: Self.message(number, id), purpose: .oneTimeLink)
    }

    private static func code(_ number: Int64, _ participantID: String, _ sealer: Sealer) -> [UInt8] {
        sealer.code(of: message(number, participantID), purpose: .oneTimeLink)
    }

    private static func message(_ number: Int64, _ participantID: String) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) } + Array(participantID.utf8)
    }
}
