// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudCollaboration
import CoreData

extension Post {
    /// The text of all contributors. A post of an earlier version of the app has its text in one piece until its first edit.
    var text: String {
        guard let contents, contents.count > 0 else { return content ?? "" }
        return contribution.string
    }

    /// Adds the differences from the present text as this device's contribution, so that a concurrent writer of the post
    /// keeps their words, too.
    func write(_ text: String) { contribution.string = text }

    /// Each device has its own store, which names it.
    private var contribution: ContributedText {
        let store = managedObjectContext?.persistentStoreCoordinator?.persistentStores.first { PostsStack.Store($0) == .own }
        return ContributedText(of: self, "contents", by: store?.identifier ?? "")
    }
}
