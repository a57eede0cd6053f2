// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

extension RecordResult {
    /// The result as the caller wants it: with zone and addresses of assets, without fields that were not asked for.
    func presented(zoneID: ZoneID, desiredKeys: Set<String>?, _ addresses: AssetAddresses) -> RecordResult {
        switch self {
        case .record(let record):
            return .record(record.presented(zoneID: zoneID, desiredKeys: desiredKeys, addresses))
        case .failure(let recordName, let error, let serverRecord):
            return .failure(
                recordName: recordName, error,
                serverRecord: serverRecord?.presented(zoneID: zoneID, desiredKeys: nil, addresses))
        }
    }
}

extension Record {
    func presented(zoneID: ZoneID, desiredKeys: Set<String>?, _ addresses: AssetAddresses) -> Record {
        var record = self
        record.zoneID = zoneID
        if let desiredKeys {
            record.fields = record.fields.filter { desiredKeys.contains($0.key) }
        }
        for (name, field) in record.fields {
            switch field.value {
            case .asset(let asset):
                record.fields[name]?.value = .asset(addresses.withDownload(asset))
            case .list(let elements, of: .asset):
                record.fields[name]?.value = .list(
                    elements.map { element in
                        if case .asset(let asset) = element { .asset(addresses.withDownload(asset)) } else { element }
                    }, of: .asset)
            default:
                break
            }
        }
        return record
    }
}
