// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

// Source code for Apple's platforms passes dates, identifiers, collections and objects as arguments of a format; bridging
// makes them `CVarArg` there. These conformances let the same calls compile; `NSPredicate(format:)` reads the values
// themselves, never their encoding. Strings and numbers conform already.

extension NSObject: @retroactive CVarArg {
    public var _cVarArgEncoding: [Int] { [Int(bitPattern: Unmanaged.passUnretained(self).toOpaque())] }
}

extension Array: @retroactive CVarArg { public var _cVarArgEncoding: [Int] { [0] } }
extension Set: @retroactive CVarArg { public var _cVarArgEncoding: [Int] { [0] } }
extension Dictionary: @retroactive CVarArg { public var _cVarArgEncoding: [Int] { [0] } }
extension Date: @retroactive CVarArg { public var _cVarArgEncoding: [Int] { [0] } }
extension Data: @retroactive CVarArg { public var _cVarArgEncoding: [Int] { [0] } }
extension UUID: @retroactive CVarArg { public var _cVarArgEncoding: [Int] { [0] } }
extension URL: @retroactive CVarArg { public var _cVarArgEncoding: [Int] { [0] } }
extension Decimal: @retroactive CVarArg { public var _cVarArgEncoding: [Int] { [0] } }
