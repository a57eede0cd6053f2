// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import class PredicateKit.NSExpression

extension NSExpression {
    /// Creates an expression for the property of a Swift key path.
    ///
    /// - Precondition: The key path names a property of a loaded model.
    ///
    /// Source: developer.apple.com/documentation/foundation/nsexpression/init(forkeypath:)
    public convenience init<Root: NSManagedObject, Value>(forKeyPath keyPath: KeyPath<Root, Value>) {
        guard let name = KeyPathProbe.name(of: keyPath) else {
            preconditionFailure("\(keyPath) is not a path of properties of \(Root.self) in a loaded model")
        }
        self.init(forKeyPath: name)
    }
}
