// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import MirroringCore
import Testing

@Suite struct EncryptedFieldsTests {
    @Test func encryptedFieldsRoundTripThroughText() {
        var fields = EncryptedFields()
        fields["a"] = EncryptedFields.Entry(version: 3)
        fields["b"] = EncryptedFields.Entry(version: .max, tag: "0f", problem: .missingKey("0102"))
        fields["c"] = EncryptedFields.Entry(version: 0, problem: .damaged)
        fields["d"] = EncryptedFields.Entry(version: 2, tag: "ff", problem: .stale)
        fields["d"]?.isReplacing = true
        fields["e"] = EncryptedFields.Entry(version: 0, problem: .missingAsset)
        let read = EncryptedFields(text: fields.text)
        #expect(read == fields)
        #expect(read.hasQuarantined)
        #expect(read.quarantined.map(\.field) == ["b", "c", "d", "e"])
        #expect(read.missingKeys == ["0102"])
        #expect(EncryptedFields(text: nil).text == nil)
        #expect(EncryptedFields(text: "a\nb x -\nc 1 - lost\n\n").isEmpty)
    }
}
