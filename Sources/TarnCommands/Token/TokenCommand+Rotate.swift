// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudServer
import CloudService
import Foundation
import SystemSupport

/// The expiry of a token or key.
struct ExpiryOptions: ParsableArguments {
    private static let dayMilliseconds: Int64 = 86_400_000

    @Option(help: ArgumentHelp("Days after which it is refused. (default: never)", valueName: "days"))
    var expiresAfter: Int?

    func validate() throws {
        guard (1...AddToken.daysMax).contains(expiresAfter ?? 1) else {
            throw ValidationError("--expires-after is a number of days from 1 to \(AddToken.daysMax).")
        }
    }

    func expires(now: Int64) -> Int64? { expiresAfter.map { now + Int64($0) * Self.dayMilliseconds } }
}

/// The time for which the old and the new credential are both accepted.
struct OverlapOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Hours for which the old one is accepted, too.", valueName: "hours"))
    var overlap = 168

    func validate() throws {
        guard (0...8760).contains(overlap) else { throw ValidationError("--overlap is a number of hours from 0 to 8760.") }
    }

    func rotation(_ expiry: ExpiryOptions, now: Int64) -> CredentialRotation {
        CredentialRotation(overlap: Int64(overlap) * 3_600_000, expires: expiry.expires(now: now))
    }
}

extension TokenCommand {
    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make an API token in place of another and print it.",
            discussion: Help.discussion(
                """
                It is for the same container, callback and origins. Both tokens are accepted during the overlap; then the old one is \
                refused. The token is printed once; the server keeps only a hash of it.
                """, examples: "tarn token rotate 1 --data ./data"))

        @Argument(help: "Number of the token, as 'tarn token list' shows it.")
        var number: Int64
        @OptionGroup var overlap: OverlapOptions
        @OptionGroup var expiry: ExpiryOptions
        @OptionGroup var options: DataOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let now = CloudService.Surroundings.system.now()
            let text = try await options.withStore(
                mustExist: true, name: String(number), audited: CommandAudit("token.rotate", String(number))
            ) { try await $0.rotateAPIToken(id: number, now: now, overlap.rotation(expiry, now: now)) }
            output.print(
                secret: text, "token",
                "API token in place of number \(number), which is accepted for at most \(CountText.text(overlap.overlap, "more hour")). It is shown once; "
                    + "pages send it as ckAPIToken:"
            )
        }
    }

    struct RotateKey: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rotate-key", abstract: "Register a server-to-server key in place of another and print its identifier.",
            discussion: Help.discussion(
                """
                The new key acts as the same user, so that the program's records stay its own. Both keys are accepted during the overlap; \
                then the old one is refused.
                """, examples: "tarn token rotate-key KEY-ID new.pem --data ./data"))

        @Argument(help: "Identifier of the old key.")
        var id: String
        @Argument(help: "File with the new public key in PEM.")
        var file: String
        @OptionGroup var overlap: OverlapOptions
        @OptionGroup var expiry: ExpiryOptions
        @OptionGroup var options: DataOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            guard let pem = try? String(contentsOfFile: file, encoding: .utf8) else {
                throw CommandError("The file \(file) could not be read.")
            }
            let now = CloudService.Surroundings.system.now()
            let new = try await options.withStore(mustExist: true, name: id, audited: CommandAudit("token.rotate-key", id)) {
                try await $0.rotateServerKey(id: id, pem: pem, now: now, overlap.rotation(expiry, now: now))
            }
            output.print(new, ["id": JSONText.string(new)])
        }
    }
}
