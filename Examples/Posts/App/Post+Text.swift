// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudCollaboration
import CoreData

extension Post {
    /// What everybody wrote. A post of an earlier version of the app has its text in one piece until somebody edits it.
    var text: String {
        guard let contents, contents.count > 0 else { return content ?? "" }
        return contribution.string
    }

    /// Adds what differs from the present text as this device's contribution, so that whoever writes in the same post at the
    /// same time finds their words, too.
    func write(_ text: String) { contribution.string = text }

    /// Each device has a store of its own, whose identifier names it.
    private var contribution: ContributedText {
        let store = managedObjectContext?.persistentStoreCoordinator?.persistentStores.first
        return ContributedText(of: self, "contents", by: store?.identifier ?? "")
    }
}
