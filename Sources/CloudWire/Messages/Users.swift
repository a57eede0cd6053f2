// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Answer of `GET public/users/caller`: who is asking.
///
/// Written as the identity itself; an identity inside `{"users": [...]}` is read too, since documents and practice
/// differ.
///
/// Source: *CloudKit Web Services Reference*, "User Identity Dictionary".
package struct UserIdentity: Hashable, Sendable {
    /// `_` and 32 lower-case hexadecimal digits, another one in each container.
    package var userRecordName: String
    package var givenName: String?
    package var familyName: String?

    package init(userRecordName: String, givenName: String? = nil, familyName: String? = nil) {
        self.userRecordName = userRecordName
        self.givenName = givenName
        self.familyName = familyName
    }
}
