// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import SystemSupport
import Testing

@Suite struct UUIDTextTests {
    @Test func formatsAndParsesAsFoundationDoes() {
        for _ in 0..<1000 {
            let uuid = UUID()
            #expect(UUIDText.text(uuid) == uuid.uuidString)
            #expect(UUIDText.uuid(uuid.uuidString) == uuid)
            #expect(UUIDText.uuid(uuid.uuidString.lowercased()) == uuid)
        }
    }

    @Test func halvesAreBigEndian() {
        #expect(UUIDText.text(0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210) == "01234567-89AB-CDEF-FEDC-BA9876543210")
    }

    @Test(arguments: [
        (UInt8(4), "FFFFFFFF-FFFF-4FFF-BFFF-FFFFFFFFFFFF"), (7, "FFFFFFFF-FFFF-7FFF-BFFF-FFFFFFFFFFFF"),
        (8, "FFFFFFFF-FFFF-8FFF-BFFF-FFFFFFFFFFFF"),
    ])
    func versionAndVariantReplaceTheirBits(_ version: UInt8, _ text: String) {
        #expect(UUIDText.text([UInt8](repeating: 0xff, count: 32), version: version) == text)
    }

    @Test(arguments: [
        "", "0", "00000000-0000-0000-0000-00000000000", "00000000-0000-0000-0000-0000000000000", "00000000-0000-0000-0000-00000000000g",
        "000000000000-0000-0000-000000000000-", "0000000é-0000-0000-0000-00000000000", " 0000000-0000-0000-0000-000000000000",
        "{0000000-0000-0000-0000-00000000000}",
    ]) func malformedTextIsRejected(_ text: String) {
        #expect(UUIDText.uuid(text) == nil)
    }
}
