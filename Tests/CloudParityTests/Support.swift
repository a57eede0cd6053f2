// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import Testing

/// A container with a cloud of its own behind it. On Apple's platforms: the app's container.
func testContainer() async throws -> CKContainer { try await TestCloud().device("device").container }
