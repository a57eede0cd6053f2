// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import Testing

/// A container with a cloud of its own behind it. On Apple's platforms: the app's container.
func testContainer() async throws -> CKContainer { try await TestCloud().device("device").container }

/// The containers of two people, on a device each.
func twoAccounts() async throws -> (owner: CKContainer, guest: CKContainer) {
    let cloud = try TestCloud()
    return (
        try await cloud.device("phone", account: "mia").container, try await cloud.device("tablet", account: "ben").container
    )
}

/// The containers of people, on a device each.
func accounts(_ names: String...) async throws -> [CKContainer] {
    let cloud = try TestCloud()
    var containers: [CKContainer] = []
    for name in names { containers.append(try await cloud.device(name, account: name).container) }
    return containers
}

/// The containers of two devices of one person.
func twoDevices() async throws -> (phone: CKContainer, tablet: CKContainer) {
    let cloud = try TestCloud()
    return (try await cloud.device("phone").container, try await cloud.device("tablet").container)
}

/// By which the guest of `twoAccounts` is found.
let guestAddress = TestCloud.emailAddress(of: "ben")
