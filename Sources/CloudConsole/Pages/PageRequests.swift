// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire

/// Requests of the protocol that the console's own pages send with `/cloudkit.js`: below `/console/api`, in the name of the
/// operator who is signed in.
///
/// The session's cookie goes along with requests of other pages, too; the code of the session's forms does not, so it has to
/// stand in a header, which no other page may send.
struct PageRequests {
    static let prefix = "/console/api"
    static let codeHeader = "x-tarn-form"

    let pages: ConsolePages
    let visit: ConsolePages.Visit

    static func isOne(_ request: ServiceRequest) -> Bool { request.path.hasPrefix(prefix + "/") }

    /// What pages need. Questions about people and shares are asked elsewhere.
    private static let operations: Set<ServicePath.Operation> = [
        .queryRecords, .lookupRecords, .modifyRecords, .uploadAssets, .listZones, .lookupZones, .databaseChanges, .zoneChanges,
    ]

    func respond() async throws -> ServiceResponse {
        do {
            guard visit.request.header(Self.codeHeader) == visit.form else {
                throw WireError(.accessDenied, "the request is of another session: load the page again")
            }
            let path = try ServicePath(parsing: String(visit.request.path.dropFirst(Self.prefix.count)))
            guard Self.operations.contains(path.operation), path.operation.accepts(method: visit.request.method) else {
                throw WireError(.notFound, "could not find handler for endpoint")
            }
            var place = ContainerPages(pages: pages, visit: visit)
            (place.container, place.environment) = (path.containerIdentifier, path.environment)
            let call = try await place.call(path.scope)
            return Page.json(try await pages.console.service.perform(path.operation, visit.body, as: call))
        } catch let error as WireError {
            return Page.json(error.encoded(), status: error.code.httpStatus)
        }
    }
}
