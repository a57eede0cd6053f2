// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Mustache

/// The pages' templates, the files `Web/templates/NAME.mustache`. `{{name}}` escapes; `{{{body}}}` stands once, for the output of
/// another template.
enum Templates {
    static let library: MustacheLibrary = {
        var templates: [String: MustacheTemplate] = [:]
        HTMLText.register()
        for file in WebFile.allCases {
            guard let name = file.templateName else { continue }
            do {
                templates[name] = try MustacheTemplate(string: HTMLText.pragma + "\(file.text)")
            } catch {
                preconditionFailure("the template \(name) cannot be read: \(error)")
            }
        }
        return MustacheLibrary(templates: templates)
    }()
}

extension WebFile {
    /// `frame` for `templates/frame.mustache`; nil for a file that is served as it is.
    fileprivate var templateName: String? {
        guard rawValue.hasPrefix("templates/"), rawValue.hasSuffix(".mustache") else { return nil }
        return String(rawValue.dropFirst("templates/".count).dropLast(".mustache".count))
    }

    var bytes: [UInt8] { text.withUTF8Buffer { Array($0) } }

    /// Its media type; nil for a template.
    var contentType: String? {
        switch rawValue.split(separator: ".").last {
        case "js": "text/javascript; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "svg": "image/svg+xml"
        default: nil
        }
    }
}
