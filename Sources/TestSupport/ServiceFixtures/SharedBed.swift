// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

extension Village {
    /// Mia shares a bed with two plants; another plant stays hers.
    package func bed(open: SharePermission = .none, with people: [ShareParticipant]) async throws -> (mia: Villager, guid: String) {
        let mia = try await villager("mia")
        try await mia.modify([
            RecordOperation(.create, .plant("bed")), RecordOperation(.create, .plant("sage", under: "bed")),
            RecordOperation(.create, .plant("own")),
        ])
        let results = try await mia.modify([
            RecordOperation(.create, .plant("mint", under: "sage")),
            RecordOperation(.create, .share("share", of: "bed", open: open, with: people)),
        ])
        guard let guid = results[1].record?.sharing.shortGUID else { throw WireError(.internalError, "the share has no link") }
        return (mia, guid)
    }
}
