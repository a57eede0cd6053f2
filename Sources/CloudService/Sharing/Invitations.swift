// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// The people that saved shares name by an address.
struct Invitations: ServiceSubject {
    let core: ServiceCore

    /// Fills in the record names of people that a request invites by address, and the owner's name.
    ///
    /// Only people that agreed to be found are named. For others the invitation has the address alone, by which they are found when they
    /// accept: otherwise an invitation would reveal accounts.
    func prepare(_ message: inout ModifyRecordsRequest, _ call: inout Call, _ credentials: Credentials) async throws {
        guard message.operations.contains(where: { $0.record.sharing.details != nil }) else { return }
        if let account = credentials.account, let profile = try await accounts.profile(ofAccount: account) {
            call.callerName = profile.name
        }
        var lookupCount = 0
        for index in message.operations.indices {
            guard var details = message.operations[index].record.sharing.details else { continue }
            // A copy: the property makes a list each time.
            var participants = details.participants
            let unknown = participants.indices.filter {
                participants[$0].identity.userRecordName.isEmpty && participants[$0].identity.lookupInfo != nil
            }
            lookupCount += unknown.count
            guard lookupCount <= Self.participantLookupsMax else {
                throw WireError(
                    .badRequest, "a request invites at most \(Self.participantLookupsMax) people by address", nativeCode: .limitExceeded)
            }
            for place in unknown {
                guard let info = participants[place].identity.lookupInfo,
                    let account = try await accounts.account(
                        matching: info, containerIdentifier: call.partition.containerIdentifier),
                    try await accounts.profile(ofAccount: account)?.isDiscoverable == true
                else { continue }
                participants[place].identity.userRecordName = try await core.userRecordName(
                    of: account, in: call.partition.containerIdentifier)
            }
            details.participants = participants
            message.operations[index].record.sharing.details = details
        }
    }

    /// People that a request looks up by address at most, since each lookup reads from the storage outside of a unit of work.
    private static let participantLookupsMax = 2000
}
