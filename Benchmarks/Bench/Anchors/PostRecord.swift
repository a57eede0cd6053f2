// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import GRDB

/// A row as GRDB's users write it when they want speed: a class with a decoder of its own.
final class PostObject: FetchableRecord {
    let primaryKey, entity, version: Int64
    let title, content: String
    let timestamp: Double
    let uuid: UUID

    init(row: Row) {
        primaryKey = row[0]
        entity = row[1]
        version = row[2]
        title = row[3]
        content = row[4]
        timestamp = row[5]
        uuid = row[6]
    }

    func readEverything() -> Int { title.utf8.count + content.utf8.count + Int(timestamp) + Int(uuid.uuid.0) }
}

/// A row as GRDB's users write it mostly.
struct PostRecord: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "zpost"

    enum CodingKeys: String, CodingKey {
        case primaryKey = "z_pk", entity = "z_ent", version = "z_opt", title = "ztitle", content = "zcontent"
        case timestamp = "ztimestamp", uuid = "zuuid"
    }

    var primaryKey: Int64
    var entity: Int64 = 1
    var version: Int64 = 1
    var title: String
    var content: String
    var timestamp: Double
    var uuid: UUID

    init(_ row: PostRow) {
        primaryKey = row.primaryKey
        title = row.title
        content = row.content
        timestamp = row.timestamp
        uuid = row.uuid
    }

    func readEverything() -> Int { title.utf8.count + content.utf8.count + Int(timestamp) + Int(uuid.uuid.0) }
}
