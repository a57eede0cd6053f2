// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import Testing

@Suite struct SessionUseTests {
    @Test(arguments: [
        SessionUse.console, .operatorKey, .consentPage, .container("iCloud.org.example.notes"), .container("consent"),
        .consent(containerIdentifier: "iCloud.org.example.notes", until: 1_764_230_400_000),
    ])
    func aUseIsReadAsItWasWritten(_ use: SessionUse) {
        #expect(SessionUse(use.text) == use)
    }

    /// Such a session gives access to no container, since none has such an identifier.
    @Test(arguments: [
        "consent until", "consent until x a.b", "consent until 12", "consent until 12 a b", "consent until 12 ../a", "keys x",
    ])
    func anUnknownUseIsNoConsent(_ text: String) {
        #expect(SessionUse(text) == .container(text))
    }
}
