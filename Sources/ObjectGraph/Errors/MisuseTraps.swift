// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// These hide the functions of the standard library, which print nothing in release builds: misuse of an object, a context or a model ends the
// process with its sentence in every build, where Apple's framework raises an exception with a reason.

@inline(__always)
func precondition(
    _ condition: @autoclosure () -> Bool, _ sentence: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
) {
    if !condition() { Swift.fatalError(sentence(), file: file, line: line) }
}

func preconditionFailure(_ sentence: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line) -> Never {
    Swift.fatalError(sentence(), file: file, line: line)
}
