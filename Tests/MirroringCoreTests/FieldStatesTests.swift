// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import MirroringCore
import Testing

@Suite struct FieldStatesTests {
    @Test func encryptedFieldsRoundTripThroughText() {
        var fields = FieldStates()
        fields["a"] = FieldStates.Entry(version: 3)
        fields["b"] = FieldStates.Entry(version: .max, tag: "0f", problem: .missingKey("0102"))
        fields["c"] = FieldStates.Entry(version: 0, problem: .damaged)
        fields["d"] = FieldStates.Entry(version: 2, tag: "ff", problem: .stale)
        fields["d"]?.isReplacing = true
        fields["e"] = FieldStates.Entry(version: 0, problem: .missingAsset)
        fields["e"]?.quarantinedVersion = 7
        let read = FieldStates(text: fields.text)
        #expect(read == fields)
        #expect(read.hasQuarantined)
        #expect(read.quarantined.map(\.field) == ["b", "c", "d", "e"])
        #expect(read.missingKeys == ["0102"])
        #expect(FieldStates(text: nil).text == nil)
        #expect(FieldStates(text: "a\nb x -\nc 1 - lost\n\n").isEmpty)
    }
}
