// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The parts of a person's name.
///
/// Source: *CloudKit Web Services Reference*, "Name Components Dictionary".
package struct NameComponents: Hashable, Sendable {
    package var namePrefix: String?
    package var givenName: String?
    package var middleName: String?
    package var familyName: String?
    package var nameSuffix: String?
    package var nickname: String?
    /// The phonetic form of the name, which has none of its own.
    package var phoneticRepresentation: NameComponents? {
        get { phonetic.first }
        set { phonetic = newValue.map { [$0] } ?? [] }
    }
    /// At most one element; a list, since a structure cannot contain itself.
    private var phonetic: [NameComponents] = []

    package init(givenName: String? = nil, familyName: String? = nil) {
        self.givenName = givenName
        self.familyName = familyName
    }

    package var isEmpty: Bool { self == NameComponents() }
}

/// How to look up a user: by one of these.
///
/// Source: *CloudKit Web Services Reference*, "User Lookup Info Dictionary".
package enum LookupInfo: Hashable, Sendable {
    case emailAddress(String)
    case phoneNumber(String)
    case userRecordName(String)
}

/// A user as a container knows them: response of `GET public/users/caller`, part of participants.
///
/// Written as the identity itself. An identity inside `{"users": [...]}` is read as well, since the documents and the
/// live service differ.
///
/// Source: *CloudKit Web Services Reference*, "User Identity Dictionary".
package struct UserIdentity: Hashable, Sendable {
    /// `_` and 32 lower-case hexadecimal digits, different in each container. Empty for an invited user that isn't
    /// known yet.
    package var userRecordName: String
    package var name: NameComponents
    package var lookupInfo: LookupInfo?

    package init(
        userRecordName: String, givenName: String? = nil, familyName: String? = nil, lookupInfo: LookupInfo? = nil
    ) {
        self.userRecordName = userRecordName
        name = NameComponents(givenName: givenName, familyName: familyName)
        self.lookupInfo = lookupInfo
    }

    package init(userRecordName: String, name: NameComponents, lookupInfo: LookupInfo? = nil) {
        self.userRecordName = userRecordName
        self.name = name
        self.lookupInfo = lookupInfo
    }

    package var givenName: String? {
        get { name.givenName }
        set { name.givenName = newValue }
    }

    package var familyName: String? {
        get { name.familyName }
        set { name.familyName = newValue }
    }
}

/// Body of `POST public/users/discover`.
///
/// Source: *CloudKit Web Services Reference*, "Discovering User Identities".
package struct DiscoverUsersRequest: Hashable, Sendable {
    package var lookupInfos: [LookupInfo]

    package init(lookupInfos: [LookupInfo]) {
        self.lookupInfos = lookupInfos
    }
}

/// Response of `users/discover`: the users that were found and allow lookup.
package struct UserIdentitiesResponse: Hashable, Sendable {
    package var users: [UserIdentity]

    package init(users: [UserIdentity]) {
        self.users = users
    }
}

/// A user in the form of the older endpoints: `users/current`, `users/lookup/…`.
///
/// Source: *CloudKit Web Services Reference*, "User Dictionary".
package struct UserDictionary: Hashable, Sendable {
    package var userRecordName: String
    package var firstName: String?
    package var lastName: String?
    package var emailAddress: String?
    /// For the caller, if the client requests the capability.
    package var quota: QuotaStatus?

    package init(
        userRecordName: String, firstName: String? = nil, lastName: String? = nil, emailAddress: String? = nil
    ) {
        self.userRecordName = userRecordName
        self.firstName = firstName
        self.lastName = lastName
        self.emailAddress = emailAddress
    }
}

/// Body of `POST public/users/lookup/email` and `…/id`: one of the two keys in each user.
package struct LookupUsersRequest: Hashable, Sendable {
    package var users: [LookupInfo]

    package init(users: [LookupInfo]) {
        self.users = users
    }
}

package struct UserDictionariesResponse: Hashable, Sendable {
    package var users: [UserDictionary]

    package init(users: [UserDictionary]) {
        self.users = users
    }
}
