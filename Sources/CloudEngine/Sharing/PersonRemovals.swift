// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// The names and addresses by which shares know one person.
package struct SharePerson: Hashable, Sendable {
    package var userRecordName: String
    package var emailAddress: String?
    package var phoneNumber: String?

    package init(userRecordName: String, emailAddress: String? = nil, phoneNumber: String? = nil) {
        self.userRecordName = userRecordName
        self.emailAddress = emailAddress
        self.phoneNumber = phoneNumber
    }

    func isPerson(_ identity: UserIdentity) -> Bool {
        if !identity.userRecordName.isEmpty { return identity.userRecordName == userRecordName }
        return switch identity.lookupInfo {
        case .emailAddress(let address): emailAddress?.lowercased() == address.lowercased()
        case .phoneNumber(let number): phoneNumber == number
        case .userRecordName(let name): name == userRecordName
        case nil: false
        }
    }
}

/// Removes people from shares of others.
package struct PersonRemovals: Sendable {
    /// Removes a person from a share of another user: as a participant, invited or joined, and from the lists of requesters and of
    /// blocked users.
    ///
    /// - Parameter call: Of the owner's private database.
    /// - Returns: `false` if the share does not name the person.
    package func remove(
        _ person: SharePerson, fromShare name: String, inZone zoneName: String, in unit: any PartitionWriter, _ call: Call
    ) throws -> Outcome<Bool> {
        guard let zone = try unit.zone(named: zoneName), !zone.isDeleted,
            let share = try unit.records(named: [name], in: zone.key)[name]?.record, !share.isDeleted, var details = share.sharing.details
        else { return Outcome(false) }
        details.participants.removeAll { $0.kind != .owner && person.isPerson($0.identity) }
        details.requesters.removeAll(where: person.isPerson)
        details.blocked.removeAll(where: person.isPerson)
        guard details != share.sharing.details else { return Outcome(false) }
        var changed = share
        changed.sharing.details = details
        let (_, news, notifications) = try ShareWriter(zone, unit, call).store(changed, over: share)
        var outcome = Outcome(true, notifications: notifications)
        outcome.news = news
        return outcome
    }
}
