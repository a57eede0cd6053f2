// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Decodes archives with untrusted class names: they come from files, and from other devices.
///
/// Foundation on Linux ends the process when an archive has a class that isn't allowed, whatever the decoding failure
/// policy, and it doesn't accept subclasses of allowed classes. So the class names are checked before anything is
/// decoded.
enum SecureArchive {
    /// - Returns: The archived object; nil for data that isn't an archive, or that has an object of another class.
    static func object(from data: Data, allowing allowed: [AnyClass]) -> Any? {
        guard let archivedClasses = classes(in: data, allowing: allowed), let decoder = try? NSKeyedUnarchiver(forReadingFrom: data) else {
            return nil
        }
        decoder.requiresSecureCoding = true
        decoder.decodingFailurePolicy = .setErrorAndReturn
        let object = decoder.decodeObject(of: allowed + archivedClasses, forKey: NSKeyedArchiveRootObjectKey)
        defer { decoder.finishDecoding() }
        return decoder.error == nil ? object : nil
    }

    /// The classes of the objects in an archive; nil if one of them is neither allowed nor a subclass of an allowed one.
    private static func classes(in data: Data, allowing allowed: [AnyClass]) -> [AnyClass]? {
        guard let archive = try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any],
            let objects = archive["$objects"] as? [Any]
        else { return nil }
        var archivedClasses: [AnyClass] = []
        for case let entry as [String: Any] in objects {
            guard let name = entry["$classname"] else { continue }
            // The object's class and its superclasses. The decoder constructs the first that exists here.
            let names = entry["$classes"] as? [String] ?? [name as? String].compactMap(\.self)
            guard let type = names.lazy.compactMap({ NSClassFromString($0) }).first, isAllowed(type, allowed) else { return nil }
            archivedClasses.append(type)
        }
        return archivedClasses
    }

    private static func isAllowed(_ type: AnyClass, _ allowed: [AnyClass]) -> Bool {
        var next: AnyClass? = type
        while let current = next {
            if allowed.contains(where: { $0 == current }) { return true }
            next = _getSuperclass(current)
        }
        return false
    }
}
