// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension MangledType {
    /// Whether only one file sees a part of the type.
    var isHidden: Bool {
        switch self {
        case .nominal(_, let path): path.contains { $0.discriminator != nil }
        case .generic(_, let path, let arguments): path.contains { $0.discriminator != nil } || arguments.contains(where: \.isHidden)
        case .optional(let wrapped): wrapped.isHidden
        case .tuple(let elements): elements.contains(where: \.isHidden)
        case .existential, .any, .anyObject, .void: false
        }
    }

    /// Every module that a part of the type is declared in.
    var modules: Set<String> {
        switch self {
        case .nominal(let module, _), .existential(let module, _): [module]
        case .generic(let module, _, let arguments): arguments.reduce([module]) { $0.union($1.modules) }
        case .optional(let wrapped): wrapped.modules
        case .tuple(let elements): elements.reduce([]) { $0.union($1.modules) }
        case .any, .anyObject, .void: []
        }
    }
}

extension MangledType: CustomStringConvertible {
    /// The type as source may spell it wherever its module is imported.
    package var description: String {
        switch self {
        case .nominal(_, let path): path.map(\.name).joined(separator: ".")
        case .generic(_, let path, let arguments):
            path.map(\.name).joined(separator: ".") + "<\(arguments.map(\.description).joined(separator: ", "))>"
        case .optional(.existential(_, let name)): "(any \(name))?"
        case .optional(let wrapped): "\(wrapped)?"
        case .tuple(let elements): "(\(elements.map(\.description).joined(separator: ", ")))"
        case .existential(_, let name): "any \(name)"
        case .any: "Any"
        case .anyObject: "AnyObject"
        case .void: "Void"
        }
    }
}
