// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import MirroringCore

// A server that was restored from a backup.

extension Replica {
    /// Fetches the home zone from its beginning, and sends again what the restored server lacks.
    ///
    /// - Parameter version: The last version in the backup; nil if the server has no part of the history that this device knows.
    package mutating func loseHistory(after version: RestoredVersion?) {
        startFullFetch()
        zones[MirrorZone.home].markUnsent(after: version)
    }
}

extension ZoneMetadata {
    /// Changes the metadata as the statements of `SyncMetadataWriter` do.
    fileprivate mutating func markUnsent(after version: RestoredVersion?) {
        func isLost(_ tag: String?) -> Bool {
            guard let version else { return true }
            // Numbers in base 36.
            return tag.map { ($0.utf8.count, $0) > (version.changeTag.utf8.count, version.changeTag) } ?? false
        }
        var changes = BookkeepingChanges()
        for var state in records.values {
            let isLost = isLost(state.changeTag)
            if isLost, state.stage == .needsDelete || state.isRelocated && state.stage == .missing {
                changes.removedRecords.append(state.recordName)
            } else if isLost || state.changeTag == nil && state.stage == .uploaded {
                state.changeTag = nil
                (state.ancestor.fields, state.ancestor.digests, state.modified) = ([:], [:], nil)
                (state.stage, state.failure) = (.needsUpload, nil)
                changes.records.append(state)
            }
        }
        for var link in links.values {
            let isLost = isLost(link.changeTag)
            if isLost, link.stage == .needsDelete {
                changes.removedLinks.append(link.recordName)
            } else if isLost || link.changeTag == nil && link.stage == .uploaded {
                (link.changeTag, link.stage, link.failure) = (nil, .needsUpload, nil)
                changes.links.append(link)
            }
        }
        write(changes)
    }
}
