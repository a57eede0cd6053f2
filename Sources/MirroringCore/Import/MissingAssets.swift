// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

// An asset that the server lost, for example by an incomplete restore, must not keep the rest of its zone from arriving.
// `CloudFailure.isAssetMissing` decides which downloads are not retried:
//
//     download fails ──── another failure ──────────────────────────▶ the import fails, and is retried with backoff
//          │
//         404, 410
//          ▼
//     the record is requested, for the asset's present address
//          │
//          ├── the record has another asset, or is deleted ─────────▶ the import fails, and the page is fetched again
//          ├── download fails ──── another failure ─────────────────▶ the import fails, and is retried with backoff
//          │        └──────────── 404, 410 ─────────────────────────▶ the value is quarantined: see `Record.quarantine`
//          └── content

extension RetryPolicy {
    /// The delay after which quarantined values are fetched again while the app runs, in seconds.
    package static let quarantineSeconds = 86_400.0

    /// Whether quarantined values are fetched again at the end of an import: once in each launch, and a day after the last attempt.
    ///
    /// - Parameter secondsSinceLast: nil before the first attempt of the launch. Negative after the clock was set back.
    package static func retriesQuarantined(secondsSinceLast: Double?) -> Bool {
        guard let secondsSinceLast else { return true }
        return secondsSinceLast < 0 || secondsSinceLast >= quarantineSeconds
    }
}

extension ImportNeeds.AssetNeed {
    /// Returns needs with the present addresses of their assets.
    ///
    /// - Parameter records: The records of the needs, as the server has them. Deleted ones may be missing.
    /// - Returns: Also the needs of assets that their records no longer have.
    package static func addressed(_ needs: [Self], by records: [Record]) -> (present: [Self], replaced: [Self]) {
        var assets: [String: [AssetValue]] = [:]
        for record in records where !record.isDeleted {
            assets[record.recordName] = record.fields.values.compactMap { if case .asset(let asset)? = $0.value { asset } else { nil } }
        }
        var present: [Self] = [], replaced: [Self] = []
        for need in needs {
            if let asset = assets[need.recordName]?.first(where: { $0.canonical == need.asset.canonical }) {
                present.append(Self(asset: asset, recordName: need.recordName, field: need.field, isEncrypted: need.isEncrypted))
            } else {
                replaced.append(need)
            }
        }
        return (present, replaced)
    }

    /// The quarantined value of an asset that the server lacks.
    package var missing: UnreadableAsset { UnreadableAsset(recordName: recordName, field: field, reason: .missingAsset) }
}

extension CloudFailure {
    /// The failure of an asset that its record no longer has: the page is fetched again.
    package static var assetReplaced: CloudFailure {
        CloudFailure(.assetNotAvailable, "an asset was replaced on the server since its record was fetched; the record is fetched again")
    }
}
