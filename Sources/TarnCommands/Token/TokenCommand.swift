// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngineSQLite
import CloudServer
import CloudService
import CloudWire
import Foundation

/// `tarn token`: what web pages and server programs use beside people's sign-ins.
struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "API tokens of web pages and keys of server programs.",
        subcommands: [Add.self, Rotate.self, Remove.self, AddKey.self, RotateKey.self, RemoveKey.self, List.self])

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make an API token and print it.",
            discussion: "The token is printed once; the server keeps only a hash of it.")

        @OptionGroup var place: PlaceOptions
        @Option(help: ArgumentHelp("Address to which the browser goes after sign-in.", valueName: "address"))
        var callback: String?
        @Option(
            help: ArgumentHelp(
                "Origin of pages that may use the token, such as https://app.example.org; may be repeated. None allows all.",
                valueName: "origin"))
        var origin: [String] = []
        @OptionGroup var expiry: ExpiryOptions
        @OptionGroup var options: DataOptions

        func validate() throws {
            for address in origin + (callback.map { [$0] } ?? []) where !address.hasPrefix("https://") && !address.hasPrefix("http://") {
                throw ValidationError("An address begins with https:// or http://.")
            }
            guard place.environment == .development || !origin.isEmpty else {
                throw ValidationError(
                    "A token for production needs the origins of its pages, such as --origin https://app.example.org: without them, a page of any site could ask people to sign in for your app.")
            }
        }

        func run() async throws {
            let now = CloudService.Surroundings.system.now()
            let token = APIToken(
                containerIdentifier: place.container, environment: place.environment, label: place.label,
                callbackURL: callback, allowedOrigins: origin, expires: expiry.expires(now: now))
            let text = try await options.withStore(mustExist: false, audited: CommandAudit("token.add", place.auditSubject)) {
                try await $0.addAPIToken(token, now: now)
            }
            Output.line(text)
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Take an API token away.")

        @Argument(help: "Number of the token, as 'tarn token list' shows it.")
        var number: Int64
        @OptionGroup var options: DataOptions

        func run() async throws {
            try await options.withStore(
                mustExist: true, name: String(number), audited: CommandAudit("token.remove", String(number))
            ) { try await $0.removeAPIToken(id: number) }
        }
    }

    struct AddKey: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add-key", abstract: "Register the public half of a server-to-server key and print its identifier.",
            discussion: """
                Make the pair with: openssl ecparam -name prime256v1 -genkey -noout -out key.pem; \
                openssl ec -in key.pem -pubout -out public.pem
                """)

        @Argument(help: "File with the public key in PEM.")
        var file: String
        @OptionGroup var place: PlaceOptions
        @OptionGroup var expiry: ExpiryOptions
        @OptionGroup var options: DataOptions

        func run() async throws {
            guard let pem = try? String(contentsOfFile: file, encoding: .utf8) else {
                throw CommandError("The file \(file) could not be read.")
            }
            let now = CloudService.Surroundings.system.now()
            let id = try await options.withStore(mustExist: false, name: file, audited: CommandAudit("token.add-key", place.auditSubject)) {
                try await $0.addServerKey(
                    pem: pem, containerIdentifier: place.container, environment: place.environment, label: place.label, now: now,
                    expires: expiry.expires(now: now))
            }
            Output.line(id)
        }
    }

    struct RemoveKey: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove-key", abstract: "Take a server-to-server key away.")

        @Argument(help: "Identifier of the key.")
        var id: String
        @OptionGroup var options: DataOptions

        func run() async throws {
            try await options.withStore(mustExist: true, name: id, audited: CommandAudit("token.remove-key", id)) { try await $0.removeServerKey(id: id) }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List API tokens and keys, one a line, separated by tabs.",
            discussion: "Columns: kind, number or identifier, container, environment, label, expiry (UTC), and for tokens callback and origins.")

        @OptionGroup var options: DataOptions

        func run() async throws {
            let (tokens, keys) = try await options.withStore(mustExist: true) { store in
                (try await store.apiTokens(), try await store.serverKeys())
            }
            for token in tokens {
                let place = [token.containerIdentifier, token.environment.rawValue, token.label, Self.expiry(token.expires)]
                Output.line((["token", String(token.id)] + place + [token.callbackURL ?? ""] + token.allowedOrigins).joined(separator: "\t"))
            }
            for (key, label) in keys {
                Output.line(["key", key.id, key.containerIdentifier, key.environment.rawValue, label, Self.expiry(key.expires)].joined(separator: "\t"))
            }
        }

        private static func expiry(_ expires: Int64?) -> String { expires.map(UserCommand.Sessions.time) ?? "never" }
    }
}

/// Which container and environment something is for, and what to call it.
struct PlaceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Container, such as iCloud.org.example.notes.", valueName: "identifier"))
    var container: String
    @Option(help: "development or production.")
    var environment = CloudEnvironment.development
    @Option(help: "What to call it in lists.")
    var label = "unnamed"

    var auditSubject: String { "\(container) \(environment.rawValue), \(label)" }

    func validate() throws {
        guard PathSegments.isContainerIdentifier(container) else {
            throw ValidationError("A container identifier has letters, digits and the signs . - _")
        }
    }
}

