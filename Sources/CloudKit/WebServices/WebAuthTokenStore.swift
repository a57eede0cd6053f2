// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import Synchronization
package import SystemSupport

/// The web auth token of one user, in a file that only its owner can read.
///
/// Each response brings the next token, and the documents say that the previous one is invalid then. So the next token is durable
/// before another request is sent, and one process uses the file at a time.
///
/// Source: *CloudKit Web Services Reference*, "Accessing CloudKit".
package final class WebAuthTokenStore: Sendable {
    /// A signed-in user. Tokens change with each response, and ``id`` with each sign-in.
    package struct Session: Hashable, Sendable {
        package var token: String
        package var id: String
    }

    private struct State {
        var session: Session?
        /// Whether the file has another content than ``session``, since it could not be written.
        var isUnwritten = false
    }

    /// One request at a time uses the token.
    let turn = Gate()
    private let url: URL
    private let state: Mutex<State>
    /// Held while the file is replaced, so that its last content is the newest.
    private let writing = Mutex(())
    private let disk: DurableFile.Disk
    /// Held until ``close()``, which makes it nil, or the end of this object.
    private let lock: Mutex<FileLock?>

    /// Reads the file; a missing one is that of a signed-out user. Its folder is created.
    ///
    /// - Throws: ``CKError`` with `.badContainer` for a file that cannot be read, that other users may read, or that another process
    ///   uses.
    package init(_ url: URL, disk: DurableFile.Disk = .real) throws(CKError) {
        self.url = url
        self.disk = disk
        let lock: FileLock
        do {
            try DurableFile.createFolder(url.deletingLastPathComponent(), disk: disk)
            lock = try FileLock(path: url.path + ".lock")
        } catch {
            throw CKError(.badContainer, "the folder of the session file \(url.path) cannot be written: choose another", cause: error)
        }
        guard lock.tryLock() else {
            throw CKError(
                .badContainer,
                "another process uses the session file \(url.path), and a web auth token serves one client: give each its own file")
        }
        self.lock = Mutex(lock)
        state = Mutex(State(session: try Self.read(url)))
    }

    /// Waits for the request that is in flight, and lets another client use the file. A later request or sign-in fails.
    package func close() async {
        await turn.enter()
        defer { turn.leave() }
        if state.withLock({ $0.isUnwritten }) { try? write() }
        Self.opened.withLock { opened in
            let path = url.standardizedFileURL.path
            if opened[path] === self { opened[path] = nil }
        }
        writing.withLock { _ in lock.withLock { $0 = nil } }
    }

    private static func read(_ url: URL) throws(CKError) -> Session? {
        guard let stamp = FileStamp(path: url.path) else { return nil }
        guard !stamp.isOpenToOthers else {
            throw CKError(.badContainer, "other users may read the session file \(url.path): run 'chmod 600' on it, and sign in again")
        }
        guard stamp.byteCount <= fileBytesMax, let data = try? Data(contentsOf: url), let file = try? SessionFile(json: Array(data)) else {
            throw CKError(.badContainer, "the session file \(url.path) is damaged: remove it, and sign in again")
        }
        return file.webAuthToken.isEmpty ? nil : Session(token: file.webAuthToken, id: file.session)
    }

    private static let fileBytesMax: Int64 = 65_536
    static let tokenBytesMax = 16_384

    private static let opened = Mutex<[String: WebAuthTokenStore]>([:])

    /// The store of a file for all containers of this process.
    ///
    /// - Throws: As ``init(_:disk:)``.
    package static func shared(_ url: URL) throws(CKError) -> WebAuthTokenStore {
        let path = url.standardizedFileURL.path
        let result = opened.withLock { opened -> Result<WebAuthTokenStore, CKError> in
            if let store = opened[path] { return .success(store) }
            return Result { () throws(CKError) -> WebAuthTokenStore in
                let store = try WebAuthTokenStore(url)
                opened[path] = store
                return store
            }
        }
        return try result.get()
    }

    /// The signed-in user; nil if the user has to sign in.
    package var session: Session? { state.withLock { $0.session } }

    /// - Throws: ``CKError`` with `.internalError` if the token that the last response brought is not durable yet, and with
    ///   `.operationCancelled` after ``close()``. Nothing may be sent.
    func sessionToSend() throws(CKError) -> Session? {
        guard lock.withLock({ $0 != nil }) else { throw closed }
        if state.withLock({ $0.isUnwritten }) { try write() }
        return session
    }

    /// Stores the token of a new sign-in.
    ///
    /// - Throws: ``CKError`` with `.invalidArguments` for a text that isn't a token, `.internalError` if the file cannot be written.
    package func signIn(_ token: String) throws(CKError) {
        guard Self.isToken(token) else {
            throw CKError(.invalidArguments, "the text isn't a web auth token: pass the ckWebAuthToken that the sign-in page returned")
        }
        state.withLock { $0 = State(session: Session(token: token, id: UUID().uuidString), isUnwritten: true) }
        try write()
    }

    /// - Throws: ``CKError`` with `.internalError` if the file cannot be written.
    package func signOut() throws(CKError) {
        state.withLock { $0 = State(session: nil, isUnwritten: true) }
        try write()
    }

    /// Replaces a token that a request used by the one of its response. A sign-in during the request takes precedence.
    func rotate(_ used: Session, to token: String) {
        let isPresent = state.withLock { state in
            guard state.session == used, token != used.token, Self.isToken(token) else { return false }
            state.session?.token = token
            state.isUnwritten = true
            return true
        }
        // The request was executed, so its response counts. The next request writes the file, or is not sent.
        if isPresent { try? write() }
    }

    /// Notes that the server no longer accepts a token.
    func end(_ used: Session) {
        let isPresent = state.withLock { state in
            guard state.session == used else { return false }
            state = State(session: nil, isUnwritten: true)
            return true
        }
        if isPresent { try? write() }
    }

    static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= tokenBytesMax && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
    }

    private var closed: CKError {
        CKError(.operationCancelled, "the session file \(url.path) was closed by this client: open it again")
    }

    private func write() throws(CKError) {
        do {
            try writing.withLock { _ in
                // Another client may use the file.
                guard lock.withLock({ $0 != nil }) else { throw closed }
                let session = session
                let file = SessionFile(webAuthToken: session?.token ?? "", session: session?.id ?? "")
                try DurableFile.replace(url, with: Data(file.encoded()), disk: disk)
                // Concurrent requests are not sent before. A session that came meanwhile is written next.
                state.withLock { if $0.session == session { $0.isUnwritten = false } }
            }
        } catch let error as CKError {
            throw error
        } catch {
            throw CKError(
                .internalError, "the session file \(url.path) cannot be written, so nothing is sent: check its disk and folder",
                cause: error)
        }
    }
}

extension WebAuthTokenStore: CustomReflectable {
    /// Without the token.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension WebAuthTokenStore.Session: RedactsSecrets {
    /// Without the token.
    package var redactedChildren: KeyValuePairs<String, Any> { ["id": id] }
}

/// The content of the file.
private struct SessionFile: WireMessage {
    var webAuthToken: String
    var session: String

    init(webAuthToken: String, session: String) {
        self.webAuthToken = webAuthToken
        self.session = session
    }

    init(from reader: inout JSONReader) throws(JSONFault) {
        self.init(webAuthToken: "", session: "")
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "webAuthToken": webAuthToken = try reader.readString()
            case "session": session = try reader.readString()
            default: try reader.skipValue()
            }
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("webAuthToken", webAuthToken)
            writer.member("session", session)
        }
    }
}
