// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

extension ServiceRequest {
    /// Whether a request may take long and changes nothing that its client needs to know, so that it has a task of its own, which is
    /// cancelled when the client disconnects.
    ///
    /// A stream is one of them: the task of its connection, which goes on for days, would keep the memory of the calls that open it.
    package var endsWithItsClient: Bool {
        path.hasPrefix(CourierAddress.prefix) || path.hasSuffix("/\(DevicePath.Operation.pushStream.rawValue)")
            || Self.longOperations.contains { path.hasSuffix($0) }
    }

    /// Ends of the paths of operations that may read for long. A page of changes is bounded, and takes less time than the switches of threads
    /// that a task of its own costs.
    private static let longOperations = [ServicePath.Operation.queryRecords, .zoneSnapshot].map { "/\($0.rawValue)" }
}

extension ServicePath.Operation {
    package func accepts(method: String) -> Bool {
        method == self.method || self == .listZones && method == "POST" || self == .discoverUsers && method == "GET"
    }

    /// The result of the same signed request if it is repeated, with any body.
    package var repetition: Repetition {
        switch self {
        case .lookupRecords, .queryRecords, .recordChanges, .changedZones, .listZones, .lookupZones, .databaseChanges, .zoneChanges,
            .zoneSnapshot, .listSubscriptions, .lookupSubscriptions, .caller, .currentUser, .discoverUsers, .lookupUsersByEmail,
            .lookupUsersByID,
            .lookupUsersByContacts:
            .harmless
        case .modifyRecords, .uploadAssets, .rereferenceAssets, .modifyZones, .modifySubscriptions: .answeredAsBefore
        case .resolveRecords, .acceptRecords, .requestAccess, .restrictUser, .unrestrictUser: .refused
        }
    }

    /// Subscriptions to the public database are each user's own: they are in a partition of the user's.
    var isAboutSubscriptions: Bool {
        self == .listSubscriptions || self == .lookupSubscriptions || self == .modifySubscriptions
    }
}
