// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudService
import CloudWire
import Foundation
import Synchronization

/// Requests that failed or were slow, in the files `requests.jsonl` and `requests.1.jsonl` of a data folder: a JSON object for each line,
/// without names, values and addresses of clients. A sender is the number of an account.
///
/// The first file is renamed to the second at ``bytesMax`` bytes. Lines are written at once and not synchronized: after a power failure the
/// last lines may be missing or cut.
package final class RequestFiles: RequestArchive {
    /// Bytes of a file at most.
    private let bytesMax: Int
    /// Requests of a minute that are stored at most: an attacker's requests do not replace those of hours.
    private static let minuteMax = 300
    private static let minute: Int64 = 60_000
    private static let pathCharactersMax = 400

    private struct State {
        var handle: FileHandle?
        var bytes = 0
        var minute: Int64 = 0
        var count = 0
    }

    private let current: String
    private let previous: String
    private let state = Mutex(State())

    /// - Parameter data: Path of the data folder.
    package init(data: String, bytesMax: Int = 8_000_000) {
        current = "\(data)/requests.jsonl"
        previous = "\(data)/requests.1.jsonl"
        self.bytesMax = bytesMax
    }

    package func add(_ note: RequestNote) {
        guard note.isArchived else { return }
        state.withLock { state in
            if state.minute != note.time / Self.minute { (state.minute, state.count) = (note.time / Self.minute, 0) }
            state.count += 1
            guard state.count <= Self.minuteMax else { return }
            var note = note
            // A client chooses the path.
            note.path = String(note.path.prefix(Self.pathCharactersMax))
            // A file that cannot be written costs the archive this request.
            try? append(Data(note.encoded() + [UInt8(ascii: "\n")]), &state)
        }
    }

    private func append(_ line: Data, _ state: inout State) throws {
        if state.handle != nil, state.bytes + line.count > bytesMax {
            try state.handle?.close()
            state.handle = nil
            rename(current, previous)
        }
        if state.handle == nil {
            let descriptor = open(current, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            state.bytes = Int(try handle.seekToEnd())
            state.handle = handle
            // The last line of an earlier process may be cut.
            if state.bytes > 0 { try handle.write(contentsOf: Data("\n".utf8)) }
        }
        try state.handle?.write(contentsOf: line)
        state.bytes += line.count
    }

    package func notes(matching filter: RequestFilter, before request: String?, limit: Int) async throws -> [RequestNote] {
        let files = [current, previous]
        return try await DiskQueue.run {
            var notes: [RequestNote] = []
            var hasBegun = request == nil
            for file in files {
                guard let bytes = FileManager.default.contents(atPath: file) else { continue }
                for line in bytes.split(separator: UInt8(ascii: "\n")).reversed() {
                    // The last line of a file may be cut.
                    guard let note = try? RequestNote(json: Array(line)) else { continue }
                    guard hasBegun else {
                        hasBegun = note.requestUUID == request
                        continue
                    }
                    if filter.accepts(note) { notes.append(note) }
                    if notes.count == limit { return notes }
                }
            }
            return notes
        }
    }
}
