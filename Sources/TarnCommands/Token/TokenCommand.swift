// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudServer
import CloudService
import CloudWire
import Foundation

/// `tarn token`: API tokens of web pages and keys of server programs.
struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "API tokens of web pages and keys of server programs.",
        subcommands: [Add.self, Rotate.self, Remove.self, AddKey.self, RotateKey.self, RemoveKey.self, List.self])

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make an API token and print it.",
            discussion: Help.discussion(
                "The token is printed once; the server keeps only a hash of it.",
                examples: "tarn token add --container iCloud.org.example.notes --origin https://app.example.org"))

        @OptionGroup var place: PlaceOptions
        @Option(help: ArgumentHelp("Address to which the browser goes after sign-in.", valueName: "address"))
        var callback: String?
        @Option(
            help: ArgumentHelp(
                "Origin of pages that may use the token, such as https://app.example.org; may be repeated. None allows all.",
                valueName: "origin"))
        var origin: [String] = []
        @OptionGroup var expiry: ExpiryOptions
        @OptionGroup var options: OperatorOptions
        @OptionGroup var output: OutputOptions

        private var act: AddToken {
            AddToken(
                container: place.container, environment: place.environment, label: place.label, callback: callback, origins: origin,
                days: expiry.expiresAfter)
        }

        func validate() throws {
            do {
                try act.check()
            } catch {
                throw ValidationError(error.reason)
            }
        }

        func run() async throws {
            let token = try await options.perform(act, mustExist: false)
            output.print(
                secret: token.secret, "token",
                "API token for \(place.container), \(place.environment.rawValue), shown once. Pages send it as ckAPIToken:")
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take an API token away.", discussion: Help.discussion(examples: "tarn token remove 3"))

        @Argument(help: "Number of the token, as 'tarn token list' shows it.")
        var number: Int64
        @OptionGroup var options: OperatorOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            _ = try await options.perform(RemoveToken(id: number))
            output.printObject(["id": .text(String(number))])
        }
    }

    struct AddKey: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add-key", abstract: "Register the public half of a server-to-server key and print its identifier.",
            discussion: Help.discussion(
                "The private key stays with the program that signs with it.",
                examples: "openssl ecparam -name prime256v1 -genkey -noout -out key.pem", "openssl ec -in key.pem -pubout -out public.pem",
                "tarn token add-key public.pem --container iCloud.org.example.notes"))

        @Argument(help: "File with the public key in PEM.")
        var file: String
        @OptionGroup var place: PlaceOptions
        @OptionGroup var expiry: ExpiryOptions
        @OptionGroup var options: DataOptions
        @OptionGroup var output: OutputOptions

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
            output.print(id, ["id": JSONText.string(id)])
        }
    }

    struct RemoveKey: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove-key", abstract: "Take a server-to-server key away.",
            discussion: Help.discussion(examples: "tarn token remove-key IDENTIFIER"))

        @Argument(help: "Identifier of the key.")
        var id: String
        @OptionGroup var options: DataOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await options.withStore(mustExist: true, audited: CommandAudit("token.remove-key", id)) { store in
                do {
                    try await store.removeServerKey(id: id)
                } catch let failure as StorageFailure where failure.code == .unknownName {
                    throw CommandError("The key \(id) does not exist: 'tarn token list' lists all keys.")
                }
            }
            output.printObject(["id": .text(id)])
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List API tokens and keys.", discussion: Help.discussion(examples: "tarn token list --data ./data"))

        @OptionGroup var options: OperatorOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let credentials = try await options.perform(ListCredentials(), isAudited: false).credentials
            var table = Table(
                ("KIND", "kind"), ("ID", "id"), ("CONTAINER", "container"), ("ENVIRONMENT", "environment"), ("LABEL", "label"),
                ("EXPIRES", "expires"), ("CALLBACK", "callback"), ("ORIGINS", "origins"))
            for credential in credentials {
                table.add(
                    .text(credential.kind.rawValue), .text(credential.id), .text(credential.container),
                    .text(credential.environment.rawValue), .text(credential.label), Table.Cell(time: credential.expires),
                    Table.Cell(credential.callback), .list(credential.origins))
            }
            output.print(table, ifEmpty: "No API tokens or keys yet: 'tarn token add' makes a token.")
        }
    }
}

/// The container, the environment and the label of a token or key.
struct PlaceOptions: ParsableArguments {
    @OptionGroup var app: ContainerOptions
    @Option(help: "What to call it in lists.")
    var label = "unnamed"

    var container: String { app.container }
    var environment: CloudEnvironment { app.environment }
    var auditSubject: String { "\(container) \(environment.rawValue), \(label)" }
}
