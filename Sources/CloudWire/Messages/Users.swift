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
    /// How the name is said. It has none of its own.
    package var phoneticRepresentation: NameComponents? {
        get { phonetic.first }
        set { phonetic = newValue.map { [$0] } ?? [] }
    }
    /// One at most; a list, since a structure cannot hold one of its own kind.
    private var phonetic: [NameComponents] = []

    package init(givenName: String? = nil, familyName: String? = nil) {
        self.givenName = givenName
        self.familyName = familyName
    }

    package var isEmpty: Bool { self == NameComponents() }
}

/// How somebody is looked up: by one of these.
///
/// Source: *CloudKit Web Services Reference*, "User Lookup Info Dictionary".
package enum LookupInfo: Hashable, Sendable {
    case emailAddress(String)
    case phoneNumber(String)
    case userRecordName(String)
}

/// A person as a container knows them: answer of `GET public/users/caller`, part of participants.
///
/// Written as the identity itself; an identity inside `{"users": [...]}` is read too, since documents and practice
/// differ.
///
/// Source: *CloudKit Web Services Reference*, "User Identity Dictionary".
package struct UserIdentity: Hashable, Sendable {
    /// `_` and 32 lower-case hexadecimal digits, another one in each container. Empty for somebody who was invited by an
    /// address and is not known yet.
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

/// Answer of `users/discover`: who was found and agreed to be found.
package struct UserIdentitiesResponse: Hashable, Sendable {
    package var users: [UserIdentity]

    package init(users: [UserIdentity]) {
        self.users = users
    }
}

/// A person as the older endpoints have them: `users/current`, `users/lookup/…`.
///
/// Source: *CloudKit Web Services Reference*, "User Dictionary".
package struct UserDictionary: Hashable, Sendable {
    package var userRecordName: String
    package var firstName: String?
    package var lastName: String?
    package var emailAddress: String?
    /// In the caller's own, for who asked for the capability.
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
