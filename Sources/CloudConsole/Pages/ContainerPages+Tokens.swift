// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// API tokens and server-to-server keys of a container.
extension ContainerPages {
    private static let dayMilliseconds: Int64 = 86_400_000
    /// Overlap of a rotation, in which both credentials are accepted.
    private static let overlapDays: Int64 = 7

    func tokens() async throws -> ServiceResponse {
        let storage = pages.console.storage
        var values: [String: Any] = [:]
        var status = 200
        if visit.isPost {
            do {
                values["secret"] = try await changeTokens(storage)
            } catch let error as WireError where error.code == .badRequest {
                (values["problem"], status) = (error.reason, error.code.httpStatus)
            } catch let failure as StorageFailure where failure.isOfRequest {
                (values["problem"], status) = (failure.sentence, 409)
            }
            if status != 200 { values.merge(typedToken) { $1 } }
        }
        values["tokens"] = try await storage.apiTokens().filter {
            $0.containerIdentifier == container && $0.environment == environment
        }.map { token -> [String: Any] in
            [
                "id": String(token.id), "label": token.label, "callback": token.callbackURL ?? "",
                "origins": token.allowedOrigins.isEmpty ? "all" : token.allowedOrigins.joined(separator: " "),
                "expires": expiry(token.expires),
            ]
        }
        values["keys"] = try await storage.serverKeys().filter {
            $0.key.containerIdentifier == container && $0.key.environment == environment
        }.map { ["id": $0.key.id, "label": $0.label, "expires": expiry($0.key.expires)] as [String: Any] }
        return page("tokens", values, title: "Tokens and keys", status: status)
    }

    /// The submitted texts of a form for a token or a key. None of them is secret: a key's is its public half.
    private var typedToken: [String: Any] {
        let isKey = ["add-key", "rotate-key"].contains(visit.fields["do"] ?? "")
        let names =
            isKey
            ? ["label": "keyLabel", "days": "keyDays", "id": "keyID", "pem": "pem"]
            : ["label": "tokenLabel", "origins": "tokenOrigins", "days": "tokenDays", "callback": "tokenCallback"]
        var typed: [String: Any] = [:]
        for (field, value) in names { typed[value] = visit.fields[field] ?? "" }
        return typed
    }

    /// - Returns: A token or an identifier to show once.
    private func changeTokens(_ storage: any AdministrationStorage) async throws -> String? {
        let (fields, label, now) = (visit.fields, visit.fields["label"] ?? "", service.now)
        let id = fields["id"] ?? ""
        func pem() -> String { fields["pem"]?.replacing("\r", with: "") ?? "" }
        try await checkPlace(ofCredential: id, storage)
        switch fields["do"] {
        case "add-token":
            let origins = (fields["origins"] ?? "").split(whereSeparator: { $0 == " " || $0 == "," }).map(String.init)
            let callback = fields["callback"].flatMap { $0.isEmpty ? nil : $0 }
            guard (origins + (callback.map { [$0] } ?? [])).allSatisfy({ $0.hasPrefix("https://") || $0.hasPrefix("http://") })
            else { throw WireError(.badRequest, "An address begins with https:// or http://.") }
            // As ``AddToken`` requires it of commands.
            guard environment == .development || !origins.isEmpty else {
                throw WireError(
                    .badRequest,
                    "A token for production needs the origins of its pages, such as https://app.example.org: without them, a page of any site could ask people to sign in for your app."
                )
            }
            return try await storage.addAPIToken(
                APIToken(
                    containerIdentifier: container, environment: environment, label: label, callbackURL: callback,
                    allowedOrigins: origins, expires: try expires(now)), now: now)
        case "rotate-token": return try await storage.rotateAPIToken(id: Int64(id) ?? 0, now: now, try rotation(now))
        case "remove-token":
            try await storage.removeAPIToken(id: Int64(id) ?? 0)
            return nil
        case "add-key":
            return try await storage.addServerKey(
                pem: pem(), containerIdentifier: container, environment: environment, label: label, now: now, expires: try expires(now))
        case "rotate-key": return try await storage.rotateServerKey(id: id, pem: pem(), now: now, try rotation(now))
        case "remove-key":
            try await storage.removeServerKey(id: id)
            return nil
        default: throw WireError(.badRequest, "The form has an unknown kind.")
        }
    }

    /// A page changes the credentials of its own container and environment: those of production need a confirmation.
    ///
    /// - Throws: `StorageFailure` with `.unknownName` for another credential.
    private func checkPlace(ofCredential id: String, _ storage: any AdministrationStorage) async throws {
        let place: (String, CloudEnvironment)? =
            switch visit.fields["do"] {
            case "rotate-token", "remove-token":
                try await storage.apiTokens().first { String($0.id) == id }.map { ($0.containerIdentifier, $0.environment) }
            case "rotate-key", "remove-key":
                try await storage.serverKeys().first { $0.key.id == id }.map { ($0.key.containerIdentifier, $0.key.environment) }
            default: (container, environment)
            }
        guard let place, place == (container, environment) else {
            throw StorageFailure(.unknownName, "the container has no credential of this identifier in this environment")
        }
    }

    private func rotation(_ now: Int64) throws -> CredentialRotation {
        CredentialRotation(overlap: Self.overlapDays * Self.dayMilliseconds, expires: try expires(now))
    }

    /// When the new credential expires, by the form's number of days.
    private func expires(_ now: Int64) throws -> Int64? {
        let text = visit.fields["days"] ?? ""
        guard !text.isEmpty else { return nil }
        guard let days = Int64(text), (1...36_500).contains(days) else {
            throw WireError(.badRequest, "Expiry is a number of days from 1 to 36500, or empty for never.")
        }
        return now + days * Self.dayMilliseconds
    }

    private func expiry(_ expires: Int64?) -> String {
        expires.map { ($0 <= service.now ? "expired " : "") + FieldText.date($0) } ?? "never"
    }
}
