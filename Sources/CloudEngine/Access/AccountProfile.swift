// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// The profile of a person with an account.
package struct AccountProfile: Hashable, Sendable {
    /// The name that the person signs in with.
    package var accountName: String
    package var name: NameComponents
    package var emailAddress: String?
    package var phoneNumber: String?
    /// Whether others find the person by address.
    package var isDiscoverable: Bool
    /// Whether the person may use the console's pages for the whole server.
    package var isOperator: Bool

    package init(
        accountName: String, name: NameComponents = NameComponents(), emailAddress: String? = nil,
        phoneNumber: String? = nil, isDiscoverable: Bool = false, isOperator: Bool = false
    ) {
        self.accountName = accountName
        self.name = name
        self.emailAddress = emailAddress
        self.phoneNumber = phoneNumber
        self.isDiscoverable = isDiscoverable
        self.isOperator = isOperator
    }
}
