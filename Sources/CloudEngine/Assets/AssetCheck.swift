// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Replaces the receipts of uploads in a record by the uploaded assets.
///
/// A value without a receipt is accepted only if the record has that asset already: a checksum does not prove
/// of having the file.
struct AssetCheck {
    private let view: any PartitionReader
    private let present: [String: Int64]

    init(_ view: any PartitionReader, over current: Record?) {
        self.view = view
        present = Dictionary(
            (current?.assets ?? []).map { ($0.fileChecksum, $0.size) }, uniquingKeysWith: { first, _ in first })
    }

    func check(_ record: inout Record) throws {
        for (name, field) in record.fields {
            switch field.value {
            case .asset(let asset):
                record.fields[name]?.value = .asset(try resolve(asset))
            case .list(let elements, of: .asset):
                record.fields[name]?.value = .list(
                    try elements.map { element in
                        if case .asset(let asset) = element { .asset(try resolve(asset)) } else { element }
                    }, of: .asset)
            default:
                break
            }
        }
    }

    private func resolve(_ asset: AssetValue) throws -> AssetValue {
        if let receipt = asset.receipt {
            guard let upload = try view.upload(id: receipt), let arrived = upload.asset,
                try view.asset(checksum: arrived.checksum) != nil
            else {
                throw WireError(.badRequest, "the receipt of an asset is of no upload, or of one that is gone: upload the file again")
            }
            return AssetValue(fileChecksum: arrived.checksum, size: arrived.size)
        }
        guard let size = present[asset.fileChecksum] else {
            throw WireError(.badRequest, "a new asset needs the receipt of its upload")
        }
        return AssetValue(fileChecksum: asset.fileChecksum, size: size)
    }
}

extension Record {
    /// Assets in the fields, those in lists included; one that stands twice comes twice.
    package var assets: [AssetValue] {
        fields.values.flatMap { field -> [AssetValue] in
            switch field.value {
            case .asset(let asset): [asset]
            case .list(let elements, of: .asset):
                elements.compactMap { if case .asset(let asset) = $0 { asset } else { nil } }
            default: []
            }
        }
    }
}
