// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Testing

@Suite struct ServiceTests {
    @Test(arguments: ServicePath.Operation.allCases)
    func aPathIsReadAsItIsWritten(_ operation: ServicePath.Operation) throws {
        for scope in DatabaseScope.allCases {
            let path = ServicePath(
                containerIdentifier: "iCloud.org.example.notes", environment: .production, scope: scope,
                operation: operation)
            #expect(try ServicePath(parsing: path.path) == path)
        }
    }

    @Test func pathsAreTheDocumentedOnes() throws {
        let path = ServicePath(
            containerIdentifier: "iCloud.n", environment: .development, scope: .private, operation: .zoneChanges)
        #expect(path.path == "/database/1/iCloud.n/development/private/changes/zone")
        let device = DevicePath(containerIdentifier: "iCloud.n", environment: .development, operation: .pushStream)
        #expect(device.path == "/device/1/iCloud.n/development/push/stream")
        #expect(try DevicePath(parsing: device.path) == device)
    }

    /// Source: the *CloudKit Web Services Reference*.
    @Test(arguments: [
        ("POST", "records/modify"), ("POST", "records/query"), ("POST", "records/lookup"), ("POST", "records/changes"),
        ("POST", "records/resolve"), ("POST", "records/accept"), ("POST", "changes/database"), ("POST", "changes/zone"),
        ("GET", "zones/list"), ("POST", "zones/lookup"), ("POST", "zones/modify"), ("POST", "zones/changes"),
        ("GET", "subscriptions/list"), ("POST", "subscriptions/lookup"), ("POST", "subscriptions/modify"), ("GET", "users/caller"),
        ("GET", "users/current"), ("POST", "users/discover"), ("POST", "users/lookup/email"), ("POST", "users/lookup/id"),
        ("POST", "users/lookup/contacts"), ("POST", "users/restrict"), ("POST", "users/unrestrict"), ("POST", "assets/upload"),
        ("POST", "assets/rereference"),
    ])
    func everyDocumentedOperationHasItsPathAndMethod(_ method: String, _ operation: String) throws {
        let path = try ServicePath(parsing: "/database/1/iCloud.n/production/public/\(operation)")
        #expect(path.operation.rawValue == operation)
        #expect(path.operation.method == method)
        #expect(path.scope == .public)
        #expect(path.environment == .production)
    }

    @Test(arguments: ["tokens/create", "tokens/register"])
    func tokensHaveTheirPaths(_ operation: String) throws {
        let path = try DevicePath(parsing: "/device/1/iCloud.n/development/\(operation)")
        #expect(path.operation.rawValue == operation)
        #expect(path.operation.method == "POST")
    }

    @Test(arguments: [
        ("", WireError.Code.notFound), ("/", .notFound), ("/database/2/c/development/private/zones/list", .notFound),
        ("/database/1/c/development/private/zones/list/", .notFound), ("/database/1/c/development/private/zones/x", .notFound),
        ("/database/1//development/private/zones/list", .badRequest),
        ("/database/1/../development/private/zones/list", .badRequest),
        ("/database/1/a%2Fb/development/private/zones/list", .badRequest),
        ("/database/1/c/testing/private/zones/list", .badRequest),
        ("/database/1/c/development/mine/zones/list", .badRequest),
    ])
    func otherPathsAreRefused(_ path: String, _ code: WireError.Code) {
        #expect(throws: WireError.self) { try ServicePath(parsing: path) }
        do {
            _ = try ServicePath(parsing: path)
        } catch {
            #expect(error.code == code)
        }
        #expect(throws: WireError.self) { try DevicePath(parsing: path) }
    }

    @Test func capabilitiesTravelInAHeader() {
        let all = Set(Capability.allCases)
        #expect(Capability.headerValue([.pushStream, .idempotencyKey, .serverRecord]) == "idempotency-key,push-stream,server-record")
        #expect(Capability.parse(Capability.headerValue(all)) == all)
        #expect(Capability.parse(" push-stream , time-travel,,") == [.pushStream])
        #expect(Capability.parse("").isEmpty)
    }

    @Test func statusesHaveOneMeaning() {
        #expect((100...599).filter { HTTPStatus.isOfGateway($0) } == [502, 504])
        #expect((100...599).filter { HTTPStatus.isMissing($0) } == [404, 410])
    }

    @Test func aTokenIsFoundInItsHeader() {
        #expect(HeaderNames.token(inAuthorization: HeaderNames.bearer("t0k")) == "t0k")
        #expect(HeaderNames.token(inAuthorization: "BEARER x") == "x")
        #expect(HeaderNames.token(inAuthorization: "Basic x") == nil)
        #expect(HeaderNames.token(inAuthorization: "Bearer ") == nil)
    }
}
