// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Mustache

/// The pages' templates. `{{name}}` escapes; `{{{body}}}` stands once, for what another template made.
enum Templates {
    static let library: MustacheLibrary = {
        var templates: [String: MustacheTemplate] = [:]
        HTMLText.register()
        for (name, text) in [frame, schema, records, server].flatMap({ $0 }) {
            do {
                templates[name] = try MustacheTemplate(string: HTMLText.pragma + text)
            } catch {
                preconditionFailure("the template \(name) cannot be read: \(error)")
            }
        }
        return MustacheLibrary(templates: templates)
    }()
}
