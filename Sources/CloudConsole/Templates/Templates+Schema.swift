// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension Templates {
    /// Record types, schema.
    static let schema: [String: String] = [
        "types": #"""
            {{> place}}
            <div class="scroll"><table><thead><tr><th scope="col">Record type</th><th scope="col" class="number">Fields</th><th scope="col">Grants</th><th scope="col">Records</th></tr></thead><tbody>
            {{#types}}<tr><td><a href="{{base}}/types/{{name}}">{{name}}</a></td><td class="number">{{fields}}</td><td>{{grants}}</td><td>{{#isBrowsed}}<a href="{{base}}/records?type={{name}}">Browse</a>{{/isBrowsed}}</td></tr>{{/types}}
            </tbody></table></div>
            {{^types}}<p>There are no record types yet. In development they come into being by use.</p>{{/types}}

            """#,
        "type": #"""
            {{> place}}
            <form method="post">
            <input type="hidden" name="form" value="{{form}}">
            <h2>Fields and indexes</h2>
            <div class="scroll"><table><thead><tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">Queryable</th><th scope="col">Sortable</th><th scope="col">Searchable</th></tr></thead><tbody>
            {{#fields}}<tr><td><code>{{name}}</code></td><td>{{type}}</td>{{#boxes}}<td>{{#isPossible}}<input type="checkbox" name="{{key}}" value="yes" aria-label="{{label}}"{{#isOn}} checked{{/isOn}}{{#isFixed}} disabled{{/isFixed}}>{{/isPossible}}</td>{{/boxes}}</tr>{{/fields}}
            </tbody></table></div>
            <h2>Who may do what in the public database</h2>
            <div class="scroll"><table><thead><tr><th scope="col">Role</th><th scope="col">Create</th><th scope="col">Read</th><th scope="col">Write</th></tr></thead><tbody>
            {{#roles}}<tr><td><code>{{name}}</code></td>{{#boxes}}<td>{{#isPossible}}<input type="checkbox" name="{{key}}" value="yes" aria-label="{{label}}"{{#isOn}} checked{{/isOn}}{{#isFixed}} disabled{{/isFixed}}>{{/isPossible}}</td>{{/boxes}}</tr>{{/roles}}
            </tbody></table></div>
            {{#isOpen}}<div class="actions"><button>Save</button></div>{{/isOpen}}
            {{^isOpen}}<p class="faint">Production takes its schema from development by a deployment.</p>{{/isOpen}}
            </form>

            """#,
        "schema": #"""
            {{> place}}
            <h2>From development to production</h2>
            {{#isRefused}}<p class="problem">Production cannot take this:</p><ul>{{#refusals}}<li>{{.}}</li>{{/refusals}}</ul>{{/isRefused}}
            <div class="card">{{#changes}}<pre>{{.}}</pre>{{/changes}}{{^changes}}<p>Production has what development has.</p>{{/changes}}</div>
            <form method="post"><input type="hidden" name="form" value="{{form}}"><div class="actions"><button name="do" value="deploy"{{^canDeploy}} disabled{{/canDeploy}}>Deploy to production</button></div></form>
            <h2>The schema of {{environment}}</h2>
            <form method="post"><input type="hidden" name="form" value="{{form}}">
            <label for="text">In the schema language</label><textarea id="text" name="text" spellcheck="false">{{text}}</textarea>
            {{#isOpen}}<div class="actions"><button name="do" value="validate" class="plain">Validate</button><button name="do" value="import">Import into development</button></div>{{/isOpen}}</form>

            """#,
    ]
}
