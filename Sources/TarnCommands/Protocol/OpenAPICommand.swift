// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ArgumentParser
import CloudService

package struct OpenAPICommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "openapi", abstract: "Print the server's protocol as an OpenAPI 3.1 document.",
        discussion: Help.discussion(
            "The server has the same document at \(OpenAPIDocument.path).", examples: "tarn openapi > openapi.json"))

    package init() {}

    package func run() { Output.text(String(decoding: OpenAPIDocument.bytes, as: UTF8.self)) }
}
