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
            let isUnknown = isLost(state.changeTag)
            if isUnknown, state.isRelocated, state.stage == .needsDelete {
                state.changeTag = nil
                changes.records.append(state)
            } else if isUnknown, state.stage == .needsDelete || state.isRelocated && state.stage == .missing {
                changes.removedRecords.append(state.recordName)
            } else if isUnknown || state.changeTag == nil && state.stage == .uploaded {
                state.changeTag = nil
                state.ancestor = Ancestor(unapplied: state.ancestor.unapplied)
                state.modified = nil
                (state.stage, state.failure) = (.needsUpload, nil)
                changes.records.append(state)
            }
        }
        for var link in links.values {
            let isUnknown = isLost(link.changeTag)
            if isUnknown, link.stage == .needsDelete {
                changes.removedLinks.append(link.recordName)
            } else if isUnknown || link.changeTag == nil && link.stage == .uploaded {
                (link.changeTag, link.stage, link.failure) = (nil, .needsUpload, nil)
                changes.links.append(link)
            }
        }
        write(changes)
    }
}
