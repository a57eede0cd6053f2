// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CloudKit
import Foundation
import MirroringCore
import SQLiteStore

extension NSPersistentCloudKitContainer {
    /// A copy of a store that was made before the store was emptied: a store file with the objects and the sync metadata of that moment,
    /// which `NSPersistentContainer` opens, too.
    public struct StoreArchive: Hashable, Sendable {
        public let url: URL
        public let date: Date
        /// The user whose objects these are; nil if the server never named one.
        public let account: CKRecord.ID?
        /// 32 hexadecimal digits that name the data of the server that they were synced with; nil for a server that doesn't tell them.
        public let serverIdentity: String?
        /// Objects of all entities.
        public let objectCount: Int
        /// Records and links that had not been sent; nil where they were not counted.
        public let pendingCount: Int?

        let note: ArchiveNote

        /// nil for a file that isn't an archive.
        init?(_ url: URL) {
            guard let metadata = try? SQLiteStore.metadata(at: url),
                let note = ArchiveNote(propertyList: metadata[ArchiveNote.metadataKey])
            else { return nil }
            self.init(url, note)
        }

        init(_ url: URL, _ note: ArchiveNote) {
            self.url = url
            self.note = note
            date = Date(timeIntervalSinceReferenceDate: note.date)
            account = note.owner.user.map { CKRecord.ID(recordName: $0) }
            serverIdentity = note.owner.server
            objectCount = Int(clamping: note.objectCount)
            pendingCount = note.pendingCount.map { Int(clamping: $0) }
        }
    }
}
