// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Objects in order, in chunks: insertion and removal modify one chunk, and a copy shares all unmodified chunks.
///
/// Invariants:
/// - no chunk is empty, and none is longer than ``pieceMax``
/// - `starts` has the index of each chunk's first object
struct ResultsList {
    static let pieceMax = 512

    private(set) var pieces: [[NSManagedObject]] = []
    private(set) var starts: [Int] = []
    private(set) var count = 0

    init() {}

    init(_ objects: [NSManagedObject]) {
        let size = Self.pieceMax / 2
        count = objects.count
        starts = Array(stride(from: 0, to: objects.count, by: size))
        pieces = starts.map { Array(objects[$0..<min($0 + size, objects.count)]) }
    }

    subscript(index: Int) -> NSManagedObject {
        let piece = piece(at: index)
        return pieces[piece][index - starts[piece]]
    }

    /// The objects of a range, or all objects.
    func objects(_ range: Range<Int>? = nil) -> [NSManagedObject] {
        let range = range ?? 0..<count
        var result: [NSManagedObject] = []
        guard !range.isEmpty else { return result }
        result.reserveCapacity(range.count)
        var piece = piece(at: range.lowerBound)
        while piece < pieces.count, starts[piece] < range.upperBound {
            let start = starts[piece]
            let end = min(range.upperBound - start, pieces[piece].count)
            result += pieces[piece][max(range.lowerBound - start, 0)..<end]
            piece += 1
        }
        return result
    }

    /// Returns the chunk that holds an index; the last chunk for the list's end.
    func piece(at index: Int) -> Int {
        var (low, high) = (0, starts.count)
        while low < high {
            let middle = (low + high) / 2
            if starts[middle] <= index { low = middle + 1 } else { high = middle }
        }
        return max(low - 1, 0)
    }

    /// The effect of an insertion or removal on the chunks.
    enum Effect: Equatable {
        /// One chunk's length changed.
        case piece(Int)
        /// Chunks were added or removed: chunk numbers changed from this one on.
        case pieces(from: Int)
    }

    mutating func insert(_ object: NSManagedObject, at index: Int) -> Effect {
        count += 1
        guard !pieces.isEmpty else {
            (pieces, starts) = ([[object]], [0])
            return .pieces(from: 0)
        }
        let piece = piece(at: index)
        pieces[piece].insert(object, at: index - starts[piece])
        shift(after: piece, by: 1)
        guard pieces[piece].count > Self.pieceMax else { return .piece(piece) }
        let half = pieces[piece].count / 2
        pieces.insert(Array(pieces[piece][half...]), at: piece + 1)
        starts.insert(starts[piece] + half, at: piece + 1)
        pieces[piece].removeSubrange(half...)
        return .pieces(from: piece)
    }

    mutating func remove(at index: Int) -> Effect {
        count -= 1
        let piece = piece(at: index)
        pieces[piece].remove(at: index - starts[piece])
        shift(after: piece, by: -1)
        guard pieces[piece].isEmpty else { return .piece(piece) }
        pieces.remove(at: piece)
        starts.remove(at: piece)
        return .pieces(from: piece)
    }

    private mutating func shift(after piece: Int, by distance: Int) {
        for later in (piece + 1)..<max(starts.count, piece + 1) { starts[later] += distance }
    }
}

/// The index of each object in a list: built on first access, then updated.
struct ResultsIndex {
    /// Stable names of chunks, since chunk numbers change.
    private var names: [Int] = []
    private var numbers: [Int: Int] = [:]
    private var chunkNames: [ObjectIdentifier: Int] = [:]
    private var nextName = 0

    init(_ list: ResultsList) {
        chunkNames.reserveCapacity(list.count)
        for piece in list.pieces.indices { name(piece, in: list) }
    }

    func index(of object: NSManagedObject, in list: ResultsList) -> Int? {
        guard let piece = chunkNames[ObjectIdentifier(object)].flatMap({ numbers[$0] }),
            let offset = list.pieces[piece].firstIndex(where: { $0 === object })
        else { return nil }
        return list.starts[piece] + offset
    }

    mutating func didInsert(_ object: NSManagedObject, _ effect: ResultsList.Effect, in list: ResultsList) {
        switch effect {
        case .piece(let piece): chunkNames[ObjectIdentifier(object)] = names[piece]
        case .pieces(let first):
            // The first chunk is new, or a chunk was split and its second half is new.
            name(names.isEmpty ? 0 : first + 1, in: list)
            if chunkNames[ObjectIdentifier(object)] == nil { chunkNames[ObjectIdentifier(object)] = names[first] }
        }
    }

    mutating func didRemove(_ object: NSManagedObject, _ effect: ResultsList.Effect) {
        chunkNames[ObjectIdentifier(object)] = nil
        guard case .pieces(let piece) = effect else { return }
        numbers[names.remove(at: piece)] = nil
        for later in piece..<names.count { numbers[names[later]] = later }
    }

    /// Names a new chunk, and records it as the chunk of its objects.
    private mutating func name(_ piece: Int, in list: ResultsList) {
        names.insert(nextName, at: piece)
        nextName += 1
        for later in piece..<names.count { numbers[names[later]] = later }
        for object in list.pieces[piece] { chunkNames[ObjectIdentifier(object)] = names[piece] }
    }
}
