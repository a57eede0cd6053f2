// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CloudKit
import Foundation
import MirroringCore
import SQLiteStore

extension NSPersistentCloudKitContainer {
    /// A copy of a store from before it was emptied: a store file with the objects and the sync metadata of that moment, which
    /// `NSPersistentContainer` opens as well.
    public struct StoreArchive: Hashable, Sendable {
        /// The archive's file.
        public let url: URL
        /// The time of the copy.
        public let date: Date
        /// The owner of the objects; nil if the server never identified one.
        public let account: CKRecord.ID?
        /// The identity of the server's data: 32 hexadecimal digits; nil for a server without the capability `server-identity`.
        public let serverIdentity: String?
        /// The number of objects of all entities.
        public let objectCount: Int
        /// The number of unsent records and links; nil if it was not counted.
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
