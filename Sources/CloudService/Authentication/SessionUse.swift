// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// What a web session gives access to. Stored as text, in the column of a session's container: no container identifier has a space, and
/// none is empty.
package enum SessionUse: Hashable, Sendable {
    /// A user's databases in one container.
    case container(String)
    /// The pages of the operator's console.
    case console
    /// Requests of commands that administer the server from another machine. Opens no page.
    case operatorKey
    /// The page on which a person gives and ends consents.
    case consentPage
    /// Reading the account's private and shared database in a container, for an operator whom the person gave the token.
    ///
    /// - Parameter until: Milliseconds since 1970 UTC.
    case consent(containerIdentifier: String, until: Int64)

    private static let operatorKeyText = "operator key"
    private static let consentPageText = "consent page"
    private static let consentPrefix = "consent until "

    /// - Parameter text: As ``text`` has it. A text of another server version that this one does not know is the name of a container that
    ///   does not exist, and gives access to nothing.
    package init(_ text: String) {
        switch text {
        case "": self = .console
        case Self.operatorKeyText: self = .operatorKey
        case Self.consentPageText: self = .consentPage
        default: self = Self.consent(text) ?? .container(text)
        }
    }

    private static func consent(_ text: String) -> SessionUse? {
        guard text.hasPrefix(consentPrefix) else { return nil }
        let parts = text.dropFirst(consentPrefix.count).split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let until = Int64(parts[0]), PathSegments.isContainerIdentifier(parts[1]) else { return nil }
        return .consent(containerIdentifier: String(parts[1]), until: until)
    }

    package var text: String {
        switch self {
        case .container(let name): name
        case .console: ""
        case .operatorKey: Self.operatorKeyText
        case .consentPage: Self.consentPageText
        case .consent(let container, let until): "\(Self.consentPrefix)\(until) \(container)"
        }
    }

    /// For lists of an account's sessions.
    package var summary: String {
        switch self {
        case .container(let name): name
        case .console: "console"
        case .operatorKey, .consentPage: text
        case .consent(let container, _): "consent for \(container)"
        }
    }

    /// When the use ends before its session does: milliseconds since 1970 UTC.
    package var until: Int64? {
        if case .consent(_, let until) = self { until } else { nil }
    }
}
