// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData

extension CodingUserInfoKey {
    static let managedObjectContext = CodingUserInfoKey(rawValue: "managedObjectContext")!
}

/// A note as it travels in a file.
struct NoteFile: Codable {
    var title: String
    var text: String?
    var priority: Note.Priority
    var keywords: [String]

    init(_ note: Note) {
        title = note.title
        text = note.text
        priority = note.priority
        keywords = (note.keywords ?? []).compactMap(\.word).sorted()
    }

    func insert(into context: NSManagedObjectContext) throws -> Note {
        let note = Note.make(title: title, in: context)
        note.text = text
        note.priority = priority
        for word in keywords {
            let keyword = try KeywordMO.find(word, in: context) ?? KeywordMO(context: context)
            keyword.word = word
            note.addToKeywords(keyword)
        }
        return note
    }
}
