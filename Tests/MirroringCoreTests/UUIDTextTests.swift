// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Testing

@testable import MirroringCore

@Suite struct UUIDTextTests {
    @Test func itWritesAndReadsAsFoundationDoes() {
        for _ in 0..<1000 {
            let uuid = UUID()
            #expect(UUIDText.text(uuid) == uuid.uuidString)
            #expect(UUIDText.uuid(uuid.uuidString) == uuid && UUIDText.uuid(uuid.uuidString.lowercased()) == uuid)
        }
    }

    @Test(arguments: [
        "", "0", "00000000-0000-0000-0000-00000000000", "00000000-0000-0000-0000-0000000000000", "00000000-0000-0000-0000-00000000000g",
        "000000000000-0000-0000-000000000000-", "0000000é-0000-0000-0000-00000000000", " 0000000-0000-0000-0000-000000000000",
        "{0000000-0000-0000-0000-00000000000}",
    ]) func whatIsNoUUIDIsNone(_ text: String) {
        #expect(UUIDText.uuid(text) == nil)
    }
}
