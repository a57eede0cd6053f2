// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData

/// Its properties are generated from the model: category code generation.
@objc(Folder)
public class Folder: NSManagedObject {
    func add(_ entry: Entry) { addToEntries(entry) }
}
