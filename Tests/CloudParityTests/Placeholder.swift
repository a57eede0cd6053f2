// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Testing

@Suite struct PlaceholderTests {
    @Test func containersHaveAnIdentifier() async throws {
        let container = try await testContainer()
        #expect(container.containerIdentifier?.isEmpty == false)
    }
}
