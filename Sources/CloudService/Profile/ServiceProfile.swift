// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import SystemSupport

/// The protocol that a service offers: Tarn's, or only that of Apple's documents.
///
/// ``apple`` is for tests of clients of iCloud. Where documents and reports differ, it takes the stricter side, so that a client
/// that works with it makes the fewest assumptions. It is not iCloud: decision 0050 lists its choices, and Parity.md has what no
/// test on it can show.
package enum ServiceProfile: String, Hashable, Sendable, CaseIterable {
    /// The documented protocol with Tarn's capabilities, device tokens, and web auth tokens that stay valid until they expire.
    case tarn
    /// Only documented operations, limits and credentials: no capability, no device token, and a web auth token is valid for one
    /// request.
    case apple

    // MARK: Operations and limits

    func offered(_ capabilities: Set<Capability>) -> Set<Capability> { self == .apple ? [] : capabilities }

    /// The server's limits, lowered to the documented ones.
    package func limits(_ limits: Limits) -> Limits {
        guard self == .apple else { return limits }
        let documented = Limits.documentedWebServices
        var limits = limits
        for key in Self.documentedLimits { limits[keyPath: key] = min(limits[keyPath: key], documented[keyPath: key]) }
        limits.assetBytes = min(limits.assetBytes, documented.assetBytes)
        return limits
    }

    private static let documentedLimits: [any WritableKeyPath<Limits, Int> & Sendable] = [
        \.operationsPerRequest, \.recordsPerResponse, \.recordsPerLargePage, \.assetTokensPerRequest, \.recordBytes,
        \.assetUploadSeconds, \.deletingReferencesPerRecord,
    ]

    /// - Throws: `WireError` with `.notFound` for an operation that Apple's documents don't have.
    func check(_ operation: ServicePath.Operation) throws(WireError) {
        if self == .apple, operation == .requestAccess || operation == .zoneSnapshot { throw Self.noHandler }
    }

    /// - Throws: `WireError` with `.notFound` for an operation that Apple's documents don't have.
    func check(_ operation: DevicePath.Operation) throws(WireError) {
        guard self == .apple else { return }
        switch operation {
        case .createToken, .registerToken: return
        case .pushStream, .webAuthToken: throw Self.noHandler
        }
    }

    /// - Throws: `WireError` with `.notFound` for a part of an upload, which is Tarn's addition.
    func check(uploadMethod method: String) throws(WireError) {
        if self == .apple, method == "HEAD" || method == "PATCH" { throw Self.noHandler }
    }

    // Source: the reason text of public reports.
    private static let noHandler = WireError(.notFound, "could not find handler for endpoint")

    /// Whether a request with an idempotency key is executed once.
    var acceptsIdempotencyKeys: Bool { self == .tarn }

    /// Whether a page can name its device, in a header or as `clientId`.
    var acceptsDeviceNames: Bool { self == .tarn }

    // MARK: Credentials

    /// - Throws: `WireError` with `.authenticationFailed` for a device token, which the documented protocol doesn't have.
    func checkAuthorization(_ header: String?) throws(WireError) {
        guard self == .apple, header != nil else { return }
        throw WireError(.authenticationFailed, "the Authorization header is no credential here: use ckAPIToken and ckWebAuthToken")
    }

    /// Whether a web auth token is valid for one request.
    ///
    /// Source: *CloudKit Web Services Reference*, "Accessing CloudKit": each token is good for one round trip, and every response
    /// brings a new one. Public reports say that the service in use keeps older ones valid. The documents give no grace.
    var usesWebTokensOnce: Bool { self == .apple }

    static let usedToken = WireError(
        .authenticationRequired, "the web auth token was used before: each response has the next one; sign in again")

    // MARK: Requests

    /// - Throws: `WireError` with `.badRequest` for members that Apple's documents don't have. The text is that of public reports for
    ///   an unreadable body; how the service in use treats unknown members is not known.
    func check(_ request: ModifyRecordsRequest) throws(WireError) {
        guard self == .apple else { return }
        guard request.saveGroup == nil, request.historyToken == nil, request.clientChangeToken == nil else { throw Self.unexpected }
    }

    /// - Throws: `WireError` with `.badRequest` for members that Apple's documents don't have.
    func check(_ request: ZoneChangesRequest) throws(WireError) {
        guard self == .apple else { return }
        guard request.zones.allSatisfy({ $0.savedSyncToken == nil }) else { throw Self.unexpected }
    }

    /// - Throws: `WireError` with `.badRequest` for subscriptions to a database: the documents name `query` and `zone`.
    func check(_ operation: SubscriptionOperation) throws(WireError) {
        guard self == .apple else { return }
        switch operation {
        case .create(let subscription), .update(let subscription):
            if case .database = subscription.kind { throw Self.unexpected }
        case .delete: return
        }
    }

    private static let unexpected = WireError(.badRequest, "BadRequestException: Unexpected input")

    // MARK: Responses

    /// Whether responses have no member that Apple's documents and public reports don't have.
    var hasDocumentedMembersOnly: Bool { self == .apple }

    /// Whether responses have the keys of the live service, whichever client sends the request.
    var alwaysHasLiveKeys: Bool { self == .apple }

    /// Whether deleted records in a change feed have their types. Public reports have none.
    var namesTypesOfDeletedRecords: Bool { self == .tarn }

    /// Whether `users/caller` has a list, which is the page's wording. Public reports have the identity alone.
    var listsCaller: Bool { self == .apple }

    /// Whether the response of `tokens/register` repeats the token. The documents have no response: an empty object, or the same members.
    var repeatsRegisteredToken: Bool { self == .tarn }

    /// Whether the console's settings name the profile.
    package var isShownInSettings: Bool { self != .tarn }

    /// Whether queries miss recent changes.
    var hasLaggingIndexes: Bool { self == .apple }

    /// Milliseconds until the indexes show a change of a record: between 0 and ``indexDelayMax``, by its name, so that records do not
    /// become visible in the order of their changes.
    ///
    /// Source: public reports: a query may miss a record that a lookup finds. They give no time.
    func indexDelay(ofRecord name: String) -> Int64 {
        Int64(Fingerprint(name.utf8).value % UInt64(Self.indexDelayMax + 1))
    }

    static let indexDelayMax: Int64 = 2000

    /// Whether lagging indexes show a record at a time, in milliseconds since 1970 UTC.
    func shows(_ record: Record, at now: Int64) -> Bool {
        guard let modified = record.modified?.timestamp else { return true }
        return now - modified >= indexDelay(ofRecord: record.recordName)
    }

    /// Removes headers that Apple's documents don't have. The delay of a throttled request is in its body.
    func headers(_ headers: [(name: String, value: String)]) -> [(name: String, value: String)] {
        guard self == .apple else { return headers }
        return headers.filter { header in
            let name = header.name.lowercased()
            return !name.hasPrefix("x-tarn-") && !name.hasPrefix("ratelimit-") && name != "retry-after"
        }
    }
}
