// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// The protocol as an OpenAPI 3.1 document, made from the tables that the service itself works by: which operations there
/// are, in which databases, for which callers, and with which errors. The messages are written down in
/// `OpenAPISchemas`, and a test holds the running server to it.
///
/// Source: *OpenAPI Specification 3.1.0*.
package enum OpenAPIDocument {
    /// Where the server has the document.
    package static let path = "/openapi.json"

    /// The document as the server sends it and as it lies in the repository.
    package static let bytes = Array(tree.pretty.utf8)

    private static var tree: JSONTree {
        [
            "openapi": "3.1.0",
            "info": [
                "title": "CloudKit Web Services, as Tarn serves them", "version": "1",
                "description": .text(
                    "The protocol of Apple's CloudKit Web Services with Tarn's additions, which other clients ignore. "
                        + "The server ignores unknown keys of requests. Errors of single items are among the results of a "
                        + "response with status 200."),
                "license": ["name": "Apache 2.0", "identifier": "Apache-2.0"],
            ],
            "servers": [["url": "/"]],
            "tags": .array(tags.map { ["name": .text($0)] }),
            "paths": .object(databasePaths + devicePaths + otherPaths),
            "components": [
                "schemas": .object(OpenAPISchemas.all), "parameters": .object(parameters), "responses": .object(errorResponses),
                "securitySchemes": securitySchemes,
            ],
        ]
    }

    private static let tags = ["records", "assets", "zones", "changes", "subscriptions", "users", "devices", "server"]

    // MARK: Databases

    private static var databasePaths: [(key: String, value: JSONTree)] {
        ServicePath.Operation.allCases.map { operation in
            let scopes = DatabaseScope.allCases.filter { DatabaseRules.rule(operation, in: $0).isDocumented }
            var parameters: [JSONTree] = [
                reference("parameters", "container"), reference("parameters", "environment"),
                [
                    "name": "database", "in": "path", "required": true,
                    "schema": ["type": "string", "enum": JSONTree(scopes.map(\.rawValue))],
                ],
            ]
            if operation == .zoneSnapshot { parameters += [reference("parameters", "snapshot"), reference("parameters", "range")] }
            if operation.answersSyncToken { parameters.append(reference("parameters", "getCurrentSyncToken")) }
            let methods = ["GET", "POST"].filter { operation.accepts(method: $0) }
            return (
                key: "/database/1/{container}/{environment}/{database}/\(operation.rawValue)",
                value: .object(
                    [(key: "parameters", value: .array(parameters))]
                        + methods.map { (key: $0.lowercased(), value: described(operation, method: $0, scopes)) })
            )
        }
    }

    private static func described(
        _ operation: ServicePath.Operation, method: String, _ scopes: [DatabaseScope]
    ) -> JSONTree {
        let isOther = method != operation.method
        let shape = OpenAPISchemas.shape(of: operation)
        let everyone = scopes.filter { DatabaseRules.rule(operation, in: $0) == .everyone }
        let described: JSONTree = [
            "operationId": .text("\(operation)\(isOther ? "By" + method.capitalizedASCII : "")"),
            "tags": [.text(String(operation.rawValue.prefix { $0 != "/" }))],
            "summary": .text(shape.summary),
            "security": security(everyone: !everyone.isEmpty, keys: scopes.contains(.public)),
        ]
        return described.with(
            ("x-without-account", everyone.isEmpty ? nil : JSONTree(everyone.map(\.rawValue))),
            ("requestBody", method == "POST" ? shape.request.map { body($0) } : nil),
            ("responses", shape.response.map(responses) ?? withErrors(bytes("The snapshot.", "The range that was asked for."))))
    }

    // MARK: Devices

    private static var devicePaths: [(key: String, value: JSONTree)] {
        DevicePath.Operation.allCases.map { operation in
            let shape = OpenAPISchemas.shape(of: operation)
            let answer: JSONTree =
                operation == .pushStream
                ? success("One notification a line; an empty line is a heartbeat.", "PushNotification", HeaderNames.jsonLines)
                : success("The answer.", shape.response ?? "Nothing", "application/json")
            let head: JSONTree = [
                "operationId": .text("\(operation)"), "tags": ["devices"], "summary": .text(shape.summary),
                "security": operation == .webAuthToken ? [["deviceToken": []]] : security(everyone: false, keys: false),
            ]
            let described = head.with(("requestBody", shape.request.map { body($0) }), ("responses", withErrors(answer)))
            return (
                key: "/device/1/{container}/{environment}/\(operation.rawValue)",
                value: JSONTree.object([])
                    .with(
                        ("parameters", [reference("parameters", "container"), reference("parameters", "environment")]),
                        (operation.method.lowercased(), described))
            )
        }
    }

    // MARK: The rest

    private static var otherPaths: [(key: String, value: JSONTree)] {
        func plain(_ summary: String, _ type: String, _ schema: JSONTree) -> JSONTree {
            [
                "get": [
                    "tags": ["server"], "summary": .text(summary), "security": [[:]],
                    "responses": ["200": ["description": "The answer.", "content": content(type, schema)]],
                ]
            ]
        }
        return [
            (
                key: "/asset/1/{address}",
                value: [
                    "description": "Addresses come whole from the server and carry their own proof; they are not put together.",
                    "parameters": [["name": "address", "in": "path", "required": true, "schema": ["type": "string"]]],
                    "post": [
                        "tags": ["assets"], "summary": "Sends the bytes of a file to an address of assets/upload.",
                        "security": [[:]], "requestBody": ["required": true, "content": binary],
                        "responses": withErrors(success("What arrived.", "AssetUploadReceipt", "application/json")),
                    ],
                    "get": [
                        "tags": ["assets"], "summary": "Fetches the bytes of a file, or a range of them, from its downloadURL.",
                        "security": [[:]],
                        "responses": withErrors(bytes("The file.", "The range that was asked for.")),
                    ],
                ]
            ),
            (
                key: "/courier/1/{address}",
                value: [
                    "parameters": [["name": "address", "in": "path", "required": true, "schema": ["type": "string"]]],
                    "get": [
                        "tags": ["devices"], "security": [[:]],
                        "summary": "Waits for the next notification; the answer is empty when the wait was in vain.",
                        "responses": withErrors(success("A notification, or nothing.", "PushNotification", "application/json")),
                    ],
                ]
            ),
            (key: "/health", value: plain("Says that the server runs.", "application/json", reference("schemas", "Health"))),
            (key: "/ready", value: plain("Says that the server can read its data.", "application/json", reference("schemas", "Health"))),
            (key: "/metrics", value: plain("Measurements for Prometheus.", "text/plain", ["type": "string"])),
            (key: path, value: plain("This document.", "application/json", ["type": "object"])),
        ]
    }

    // MARK: Parts

    private static let binary: JSONTree = ["application/octet-stream": ["schema": ["type": "string", "format": "binary"]]]

    private static func bytes(_ whole: String, _ range: String) -> JSONTree {
        ["200": ["description": .text(whole), "content": binary], "206": ["description": .text(range), "content": binary]]
    }

    private static func reference(_ kind: String, _ name: String) -> JSONTree { ["$ref": "#/components/\(kind)/\(name)"] }

    private static func body(_ schema: String) -> JSONTree {
        ["required": true, "content": ["application/json": ["schema": reference("schemas", schema)]]]
    }

    private static func responses(_ schema: String) -> JSONTree {
        withErrors(success("The answer; errors of single items stand among the results.", schema, "application/json"))
    }

    private static func success(_ description: String, _ schema: String, _ type: String) -> JSONTree {
        [
            "200": [
                "description": .text(description),
                "content": content(type, reference("schemas", schema)),
            ]
        ]
    }

    private static func content(_ type: String, _ schema: JSONTree) -> JSONTree {
        .object([(key: type, value: ["schema": schema] as JSONTree)])
    }

    private static func withErrors(_ answer: JSONTree) -> JSONTree {
        guard case .object(let members) = answer else { return answer }
        return .object(members + statuses.map { (key: String($0), value: reference("responses", "Error\($0)")) })
    }

    /// The statuses of an operation besides 200; a failure of the server, 500, is not part of the protocol.
    private static let statuses = Set(WireError.Code.allCases.map(\.httpStatus)).subtracting([500]).sorted()

    private static var errorResponses: [(key: String, value: JSONTree)] {
        statuses.map { status in
            let codes = WireError.Code.allCases.filter { $0.httpStatus == status }.map(\.rawValue)
            return (
                key: "Error\(status)",
                value: [
                    "description": .text(codes.joined(separator: ", ")),
                    "content": ["application/json": ["schema": reference("schemas", "Error")]],
                ]
            )
        }
    }

    private static let parameters: [(key: String, value: JSONTree)] = [
        (
            key: "container",
            value: [
                "name": "container", "in": "path", "required": true, "schema": ["type": "string", "minLength": 1, "maxLength": 255],
                "example": "iCloud.org.example.notes",
            ]
        ),
        (
            key: "environment",
            value: [
                "name": "environment", "in": "path", "required": true,
                "schema": ["type": "string", "enum": JSONTree(CloudEnvironment.allCases.map(\.rawValue))],
            ]
        ),
        (
            key: "getCurrentSyncToken",
            value: [
                "name": "getCurrentSyncToken", "in": "query", "schema": ["type": "boolean"],
                "description": "Whether the response contains the current point of the zone's history.",
            ]
        ),
        (
            key: "snapshot",
            value: [
                "name": "id", "in": "query", "required": true, "schema": ["type": "string", "pattern": "^[0-9a-f]{32}$"],
                "description": "The identifier of a snapshot that changes/zone offered.",
            ]
        ),
        (
            key: "range",
            value: [
                "name": .text(HeaderNames.range), "in": "header", "schema": ["type": "string"],
                "description": "Bytes of the snapshot, such as bytes=4096-; all without it.",
            ]
        ),
    ]

    private static func security(everyone: Bool, keys: Bool) -> JSONTree {
        var ways: [JSONTree] = [["deviceToken": []], ["apiToken": [], "webAuthToken": []]]
        if keys { ways.append(["serverKey": [], "requestDate": [], "requestSignature": []]) }
        if everyone { ways += [["apiToken": []], [:]] }
        return .array(ways)
    }

    private static let securitySchemes: JSONTree = [
        "deviceToken": ["type": "http", "scheme": "bearer", "description": "Tarn's own: of a device and its user."],
        "apiToken": ["type": "apiKey", "in": "query", "name": "ckAPIToken"],
        "webAuthToken": ["type": "apiKey", "in": "query", "name": "ckWebAuthToken"],
        "serverKey": ["type": "apiKey", "in": "header", "name": .text(HeaderNames.requestKeyID)],
        "requestDate": ["type": "apiKey", "in": "header", "name": .text(HeaderNames.requestDate)],
        "requestSignature": ["type": "apiKey", "in": "header", "name": .text(HeaderNames.requestSignature)],
    ]
}

extension ServicePath.Operation {
    /// Whether `getCurrentSyncToken` in the address has an effect.
    fileprivate var answersSyncToken: Bool { self == .modifyRecords || self == .lookupRecords || self == .queryRecords }
}

extension String {
    fileprivate var capitalizedASCII: String { prefix(1).uppercased() + dropFirst().lowercased() }
}
