// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudWire

/// Which container, and which of its environments.
struct ContainerOptions: ParsableArguments {
    static let containerHelp = ArgumentHelp("Container, such as iCloud.org.example.notes.", valueName: "identifier")
    static let environmentHelp: ArgumentHelp = "development or production."

    @Option(help: ContainerOptions.containerHelp)
    var container: String
    @Option(help: ContainerOptions.environmentHelp)
    var environment = CloudEnvironment.development

    func validate() throws { try Self.check(container) }

    /// - Throws: `ValidationError`.
    static func check(_ container: String) throws {
        guard PathSegments.isContainerIdentifier(container) else {
            throw ValidationError("A container identifier has letters, digits and the signs . - _")
        }
    }
}
