// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData

// Writes a notebook into a folder, reads it again, and prints its contents.

func check(_ condition: Bool, _ what: String) {
    guard condition else {
        print("notebook: \(what)")
        exit(1)
    }
}

let folder = FileManager.default.temporaryDirectory.appendingPathComponent("Notebook-\(UUID().uuidString)")
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: folder) }

do {
    let stack = Stack(at: folder)
    let context = stack.viewContext
    let home = Folder(context: context)
    home.name = "Home"
    let note = Note.make(title: "Walden", in: context)
    note.text = "I went to the woods"
    note.priority = .high
    note.aliases = ["Life in the Woods"]
    note.isPinned = true
    home.add(note)
    let keyword = KeywordMO(context: context)
    keyword.word = "Woods"
    note.addToKeywords(keyword)
    let task = Task(context: context)
    task.due = 1000
    home.addToEntries(task)
    for label in ["walk", "sit"] {
        let step = Step(context: context)
        step.label = label
        task.addToSteps(step)
    }
    let last = Step(context: context)
    last.label = "go"
    task.insertIntoSteps(last, at: 0)
    Location(context: context).latitude = 42.4
    try stack.saveIfNeeded()
    let copy = try NoteFile(note).insert(into: context)
    copy.title = "Copy"
    check(copy.keywords == [keyword] && keyword.notes?.count == 2, "the copy has the same keyword")
    try stack.saveIfNeeded()
}

do {
    let stack = Stack(at: folder)
    let request: NSFetchRequest<Note> = Note.fetchRequest()
    request.sortDescriptors = [NSSortDescriptor(keyPath: \Note.title, ascending: false)]
    request.predicate = NSPredicate(format: "ANY keywords.word BEGINSWITH[cd] %@", "woo")
    let notes = try stack.viewContext.fetch(request)
    check(notes.map(\.title) == ["Walden", "Copy"], "the notes are found by keyword")
    let note = notes[0]
    check(note.summary == "Walden: 5 words" && note.priority == .high && note.isPinned, "the note has its values")
    check(note.aliases == ["Life in the Woods"] && note.createdAt != nil && note.folder?.name == "Home", "the note has all of them")
    let tasks = try stack.viewContext.fetch(NSFetchRequest<Task>(entityName: "Task"))
    let labels = tasks.first?.steps?.compactMap { ($0 as? Step)?.label } ?? []
    check(labels == ["go", "walk", "sit"] && tasks.first?.due == 1000, "the steps keep their order")
    let shouting = Note.make(title: "LOUD", in: stack.viewContext)
    do {
        try stack.viewContext.save()
        check(false, "an invalid note is not saved")
    } catch Note.ValidationError.shouting {
        stack.viewContext.delete(shouting)
    }
    let all = try stack.viewContext.fetch(NSFetchRequest<Entry>(entityName: "Entry"))
    print("notebook: \(all.count) entries, \(labels.count) steps, \(note.summary)")
}
