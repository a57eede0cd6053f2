// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// An element of a model file with the line it stands on.
package struct SourceElement: Hashable, Sendable {
    package let name: String
    package let attributes: [String: String]
    /// The line on which the start tag ends, from 1.
    package let line: Int
    /// Text between the tags, without white space around it. No element that is known has any.
    package var text = ""
    package var children: [SourceElement] = []

    /// - Throws: ``ModelFileError`` when the file cannot be read or is not well-formed.
    static func parse(contentsOf file: URL) throws(ModelFileError) -> SourceElement {
        guard let data = FileManager.default.contents(atPath: file.path) else {
            throw ModelFileError([Diagnostic(.error, file: file.path, "cannot be read")])
        }
        let parser = XMLParser(data: data)
        let builder = SourceElementBuilder()
        parser.delegate = builder
        guard parser.parse(), let root = builder.root else {
            let line = builder.lineOfFailure ?? (parser.lineNumber > 0 ? parser.lineNumber : nil)
            throw ModelFileError([
                Diagnostic(.error, file: file.path, line: line, "the model is not well-formed XML\(builder.reason)")
            ])
        }
        return root
    }
}

/// Builds the tree from the parser's events.
private final class SourceElementBuilder: NSObject, XMLParserDelegate {
    private(set) var root: SourceElement?
    private(set) var lineOfFailure: Int?
    private(set) var reason = ""
    private var open: [SourceElement] = []

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        open.append(SourceElement(name: name, attributes: attributes, line: parser.lineNumber))
    }

    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
        guard var element = open.popLast() else { return }
        element.text = element.text.trimmingCharacters(in: .whitespacesAndNewlines)
        if open.isEmpty { root = element } else { open[open.count - 1].children.append(element) }
    }

    func parser(_ parser: XMLParser, foundCharacters text: String) {
        if !open.isEmpty { open[open.count - 1].text += text }
    }

    func parser(_ parser: XMLParser, parseErrorOccurred parseError: any Error) {
        lineOfFailure = parser.lineNumber > 0 ? parser.lineNumber : nil
        reason = " (error \((parseError as NSError).code) of the XML parser)"
    }
}
