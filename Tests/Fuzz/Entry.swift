// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// What libFuzzer calls; built by `make fuzz` together with FuzzTarget.swift, and by nothing else.
import Foundation

private let target: FuzzTarget = {
    let name = ProcessInfo.processInfo.environment["FUZZ_TARGET"] ?? ""
    guard let target = FuzzTarget(rawValue: name) else { preconditionFailure("FUZZ_TARGET names no target: '\(name)'") }
    return target
}()

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: start == nil ? 0 : count))
    if let complaint = target.complaint(about: bytes) { preconditionFailure(complaint) }
    return 0
}
