// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudService
import CloudWire
import Foundation

extension UserCommand {
    struct Password: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set the password with which a user signs in on pages.",
            discussion: Help.discussion(
                """
                Reads one line from standard input. It ends the user's sessions on pages; device tokens stay good. A password has at least \
                \(PasswordRule.charactersMin) characters, an operator's \(PasswordRule.operatorCharactersMin), and is not one of the commonly \
                leaked ones.
                """,
                examples: "tarn user password mia", "tarn user password mia < password.txt"))

        @Argument(help: "Name of the user.")
        var name: String
        @OptionGroup var options: DataOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            if isatty(STDIN_FILENO) != 0 { Output.note("New password of \(name):") }
            let password = Terminal.readSecret() ?? ""
            try await options.withStore(mustExist: true, name: name, audited: CommandAudit("user.password", name)) { store in
                let isOperator = try await store.profile(ofAccount: store.requiredAccount(named: name))?.isOperator == true
                if let problem = PasswordRule.problem(password, accountName: name, isOperator: isOperator) { throw CommandError(problem) }
                try await store.setPassword(password, ofUser: name)
            }
            output.printObject(["user": .text(name)])
        }
    }

    struct Profile: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set a user's profile and permissions.",
            discussion: Help.discussion(
                "Omitted options keep their values; an empty text removes a value.",
                examples: "tarn user profile mia --operator", "tarn user profile mia --email mia@example.org --discoverable"))

        @Argument(help: "Name of the user.")
        var name: String
        @Option(help: "Given name.") var givenName: String?
        @Option(help: "Family name.") var familyName: String?
        @Option(help: "Email address, with which the user may sign in, too.") var email: String?
        @Option(help: "Phone number.") var phone: String?
        @Flag(inversion: .prefixedNo, help: "Whether others find the user by address.")
        var discoverable: Bool?
        @Flag(inversion: .prefixedNo, help: "Whether the user may use the console's pages for the whole server.")
        var `operator`: Bool?
        @OptionGroup var options: DataOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            if let email, !email.isEmpty, !ContactAddress.isEmail(email) { throw ValidationError(ContactAddress.emailRule) }
            if let phone, !phone.isEmpty, !ContactAddress.isPhone(phone) { throw ValidationError(ContactAddress.phoneRule) }
        }

        func run() async throws {
            let (givenName, familyName, email, phone) = (givenName, familyName, email, phone)
            let (discoverable, isOperator, name) = (discoverable, `operator`, name)
            let update: @Sendable (any OperatedStorage) async throws -> Void = { store in
                try await store.updateProfile(ofUser: name) { profile in
                    if let givenName { profile.name.givenName = givenName.nilIfEmpty }
                    if let familyName { profile.name.familyName = familyName.nilIfEmpty }
                    if let email { profile.emailAddress = email.nilIfEmpty }
                    if let phone { profile.phoneNumber = phone.nilIfEmpty }
                    if let discoverable { profile.isDiscoverable = discoverable }
                    if let isOperator { profile.isOperator = isOperator }
                }
            }
            let audit = CommandAudit("user.profile", isOperator.map { "\(name), operator: \($0)" } ?? name)
            let profile = try await options.withStore(mustExist: true, name: name, audited: audit) { store -> AccountProfile? in
                do {
                    try await update(store)
                } catch let failure as StorageFailure where failure.code == .nameTaken {
                    throw CommandError("Another user has this email address or phone number: 'tarn user list' shows the users.")
                }
                return try await store.profile(ofAccount: store.requiredAccount(named: name))
            }
            if isOperator == true {
                Output.note(
                    "An operator's password has at least \(PasswordRule.operatorCharactersMin) characters: if \(name)'s is shorter, set another with 'tarn user password \(name)'."
                )
            }
            guard let profile else { return }
            output.printObject([
                "user": .text(name), "givenName": Table.Cell(profile.name.givenName), "familyName": Table.Cell(profile.name.familyName),
                "email": Table.Cell(profile.emailAddress), "phone": Table.Cell(profile.phoneNumber),
                "discoverable": .flag(profile.isDiscoverable), "operator": .flag(profile.isOperator),
            ])
        }
    }
}

extension String {
    fileprivate var nilIfEmpty: String? { isEmpty ? nil : self }
}

enum Terminal {
    /// A line from standard input that the terminal does not show.
    static func readSecret() -> String? {
        var before = termios()
        guard tcgetattr(STDIN_FILENO, &before) == 0 else { return readLine() }
        var silent = before
        silent.c_lflag &= ~tcflag_t(ECHO)
        _ = tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        defer { _ = tcsetattr(STDIN_FILENO, TCSAFLUSH, &before) }
        return readLine()
    }
}
