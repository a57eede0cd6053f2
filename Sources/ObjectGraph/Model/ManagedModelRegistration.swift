// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Compiles a model into the program, so that `NSPersistentContainer(name:)` finds it without a file.
///
/// The model compiler generates one subclass per model, with a name that ends in `ModelRegistration`.
open class ManagedModelRegistration {
    /// Compiled models by name.
    open class var models: [String: String] { [:] }
}
