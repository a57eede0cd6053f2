// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import MirroringCore

/// The next page of a zone, as the importer takes it.
enum FetchedPage: Sendable {
    case decoded(ImportPage)
    case undecoded(UndecodedPage)

    var token: String {
        switch self {
        case .decoded(let page): page.token
        case .undecoded(let page): page.token
        }
    }

    var moreComing: Bool {
        switch self {
        case .decoded(let page): page.moreComing
        case .undecoded: true
        }
    }

    var changeCount: Int {
        switch self {
        case .decoded(let page): page.changeCount
        case .undecoded(let page): page.recordCount
        }
    }

    /// Changes behind the page; nil if the server did not count them.
    var remaining: Int? {
        switch self {
        case .decoded(let page): page.remaining
        case .undecoded: nil
        }
    }
}

/// A frame of a snapshot that is staged as it arrived, and decoded when the import is applied. Others follow it.
///
/// Its records have no assets to download.
struct UndecodedPage: Sendable {
    /// One `ZoneChangesResult` as JSON.
    var body: [UInt8]
    var recordCount: Int
    /// The token of the request.
    var askedWith: String?
    /// The position behind the frame.
    var token: String
    /// The number of the full fetch that the page belongs to.
    var generation: Int64?
}
