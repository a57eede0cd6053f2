// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

// Written by hand because row keys are valid only in one process: only values that a model can declare are coded.
extension StoredValue: Codable {
    private enum Kind: String, Codable { case null, int, double, decimal, string, date, data, uuid, url }
    private enum Key: String, CodingKey { case kind, value }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        switch try container.decode(Kind.self, forKey: .kind) {
        case .null: self = .null
        case .int: self = .int(try container.decode(Int64.self, forKey: .value))
        case .double: self = .double(try container.decode(Double.self, forKey: .value))
        case .decimal: self = .decimal(try container.decode(Decimal.self, forKey: .value))
        case .string: self = .string(try container.decode(String.self, forKey: .value))
        case .date: self = .date(try container.decode(Double.self, forKey: .value))
        case .data: self = .data(try container.decode(Data.self, forKey: .value))
        case .uuid: self = .uuid(try container.decode(UUID.self, forKey: .value))
        case .url: self = .url(try container.decode(String.self, forKey: .value))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        func put(_ kind: Kind, _ value: (any Encodable)?) throws {
            try container.encode(kind, forKey: .kind)
            if let value { try container.encode(value, forKey: .value) }
        }
        switch self {
        case .null: try put(.null, nil)
        case .int(let value): try put(.int, value)
        case .double(let value): try put(.double, value)
        case .decimal(let value): try put(.decimal, value)
        case .string(let value): try put(.string, value)
        case .date(let value): try put(.date, value)
        case .data(let value): try put(.data, value)
        case .uuid(let value): try put(.uuid, value)
        case .url(let value): try put(.url, value)
        case .reference:
            throw EncodingError.invalidValue(
                self,
                .init(codingPath: encoder.codingPath, debugDescription: "a row key cannot be a model's default value"))
        case .object:
            throw EncodingError.invalidValue(
                self,
                .init(codingPath: encoder.codingPath, debugDescription: "a value of an app's own type cannot be a default in a file"))
        }
    }
}
