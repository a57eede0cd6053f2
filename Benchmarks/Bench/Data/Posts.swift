// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import GRDB

/// The POST table at one size: the rows, and a file of them for each entrant. Files are made on first use and kept;
/// works that write get copies.
final class Posts {
    let rows: [PostRow]
    let scratch: Scratch
    private var made: [String: URL] = [:]
    private var stack: Stack?
    private var connection: SQLiteConnection?
    private var pool: DatabasePool?

    init(_ count: Int, in scratch: Scratch) {
        rows = PostRow.rows(count)
        self.scratch = scratch
    }

    // MARK: For works that read: one open file each, shared by them

    func sharedStack() throws -> Stack {
        if let stack { return stack }
        let opened = try Stack(try storeFile())
        stack = opened
        return opened
    }

    func sharedConnection() throws -> SQLiteConnection {
        if let connection { return connection }
        let opened = try SQLiteConnection(try tableFile())
        connection = opened
        return opened
    }

    func sharedPool() throws -> DatabasePool {
        if let pool { return pool }
        let opened = try DatabasePool(path: try tableFile().path)
        pool = opened
        return opened
    }

    // MARK: For works that write: a file of their own each time

    func storeCopy() throws -> URL { try scratch.copy(of: try storeFile()) }
    func tableCopy() throws -> URL { try scratch.copy(of: try tableFile()) }

    func emptyTable() throws -> URL {
        let file = scratch.newFile()
        let connection = try SQLiteConnection(file)
        try PostTable.create(in: connection)
        connection.close()
        return file
    }

    private func storeFile() throws -> URL {
        try file("store") { file in
            let stack = try Stack(file)
            let context = stack.newContext()
            try context.performAndWait {
                for row in rows { Post.insert(row, into: context) }
                try context.save()
            }
            try stack.close()
        }
    }

    private func tableFile() throws -> URL {
        try file("table") { file in
            let connection = try SQLiteConnection(file)
            try PostTable.create(in: connection)
            try PostTable.insert(rows, into: connection)
            connection.close()
        }
    }

    private func file(_ kind: String, _ make: (URL) throws -> Void) throws -> URL {
        if let file = made[kind] { return file }
        let file = scratch.newFile()
        try make(file)
        made[kind] = file
        return file
    }
}
