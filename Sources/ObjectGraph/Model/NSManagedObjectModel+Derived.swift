// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
import SQLiteStore

extension NSManagedObjectModel {
    /// Derives the model of a SQLite store from the store itself, to read a store without its model.
    ///
    /// The model is the store's own record of it: stores of this framework and most of Apple's have one. Otherwise it is
    /// guessed from tables, columns and values: property names are in lower case then, numbers are 64 bits wide, and every
    /// relationship without a known inverse gets one, such as `car_owner`. `tarn store model` writes the same model as a file,
    /// with notes about guesses.
    ///
    /// Objects are plain `NSManagedObject`s, and transformable attributes have their stored data, since the app's classes are
    /// missing. Reading the model changes nothing in the store's folder, and works while another process has the store open.
    /// Add the store read-only: a store opened for writing records the model as its own.
    ///
    ///     let model = try NSManagedObjectModel(derivedFromStoreAt: url)
    ///     let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    ///     try coordinator.addPersistentStore(type: .sqlite, at: url, options: [NSReadOnlyPersistentStoreOption: true])
    ///
    /// - Throws: `CocoaError` for a file that is missing, unreadable, damaged or not a Core Data store.
    ///
    /// Differs: Tarn's own; Apple's framework opens no store without its model.
    public convenience init(derivedFromStoreAt url: URL) throws {
        let derived: DerivedModel
        do throws(StoreError) { derived = try DerivedModel(ofStoreAt: url) } catch { throw CocoaError(error) }
        var model = derived.model
        for index in model.entities.indices {
            model.entities[index].className = "NSManagedObject"
            model.entities[index].classModule = nil
            for place in model.entities[index].attributes.indices where model.entities[index].attributes[place].type == .transformable {
                model.entities[index].attributes[place].type = .binaryData
                model.entities[index].attributes[place].valueTransformerName = nil
                model.entities[index].attributes[place].valueClassName = nil
            }
        }
        self.init(model)
    }
}
