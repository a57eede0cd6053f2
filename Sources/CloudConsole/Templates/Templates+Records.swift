// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension Templates {
    /// Records, zones and changes.
    static let records: [String: String] = [
        "records": #"""
            {{> place}}
            <form class="card" method="get">
            <div class="row">
            <div><label for="scope">Database</label><select id="scope" name="scope">{{#scopes}}<option value="{{value}}"{{#isOn}} selected{{/isOn}}>{{name}}</option>{{/scopes}}</select></div>
            <div><label for="zone">Zone</label><input id="zone" name="zone" value="{{zone}}" placeholder="_defaultZone"></div>
            <div><label for="type">Record type</label><select id="type" name="type">{{#types}}<option{{#isOn}} selected{{/isOn}}>{{name}}</option>{{/types}}</select></div>
            </div><div class="row">
            <div><label for="field">Filter by</label><select id="field" name="field"><option value="">no filter</option>{{#fields}}<option{{#isOn}} selected{{/isOn}}>{{name}}</option>{{/fields}}</select></div>
            <div><label for="comparator">Comparator</label><select id="comparator" name="comparator">{{#comparators}}<option{{#isOn}} selected{{/isOn}}>{{name}}</option>{{/comparators}}</select></div>
            <div><label for="value">Value</label><input id="value" name="value" value="{{value}}"></div>
            <div><label for="sort">Order by</label><select id="sort" name="sort"><option value="">no order</option>{{#sorts}}<option value="{{value}}"{{#isOn}} selected{{/isOn}}>{{name}}</option>{{/sorts}}</select></div>
            <button>Query</button>
            </div>
            </form>
            {{#problem}}<p class="problem" role="alert">{{problem}}</p>{{/problem}}
            <p><a href="{{newAddress}}">New record</a></p>
            <div class="scroll"><table><thead><tr><th scope="col">Name</th>{{#columns}}<th scope="col">{{.}}</th>{{/columns}}<th scope="col">Modified</th></tr></thead><tbody>
            {{#records}}<tr><td><a href="{{address}}">{{name}}</a></td>{{#cells}}<td><code>{{.}}</code></td>{{/cells}}<td class="time">{{modified}}</td></tr>{{/records}}
            </tbody></table></div>
            {{^records}}<p class="faint">No records.</p>{{/records}}
            {{#more}}<p><a href="{{more}}">Next page</a></p>{{/more}}

            """#,
        "record": #"""
            {{> place}}
            {{#problem}}<p class="problem" role="alert">{{problem}}</p>{{/problem}}
            {{> asks}}
            <form class="card" method="post" id="record" data-type="{{type}}" data-scope="{{scope}}" data-zone="{{zone}}" data-owner="{{owner}}">
            <input type="hidden" name="form" value="{{form}}"><input type="hidden" name="tag" value="{{tag}}">
            {{#isNew}}<label for="name">Name</label><input id="name" name="name" placeholder="made by the server">{{/isNew}}
            {{^isNew}}<p class="faint">Type {{type}} · created {{created}} · modified {{modified}} · tag {{tag}}{{#share}} · in share {{share}}{{/share}}{{#parent}} · below {{parent}}{{/parent}}</p>{{/isNew}}
            {{#fields}}<label for="f.{{name}}">{{name}} <span class="faint">{{type}}</span></label>
            {{#isEditable}}<input id="f.{{name}}" name="f.{{name}}" value="{{value}}"{{#hint}} placeholder="{{hint}}"{{/hint}}>{{/isEditable}}{{#isAsset}}<p class="file">{{#file}}<a href="{{file}}" download="{{name}}">{{value}}</a>{{/file}}{{^file}}<span class="faint">no file</span>{{/file}}
            <input type="file" id="f.{{name}}" data-field="{{name}}"><input type="hidden" name="a.{{name}}"><span class="faint" role="status"></span></p>{{/isAsset}}{{^isEditable}}{{^isAsset}}<pre id="f.{{name}}">{{value}}{{^value}}<span class="faint">nothing</span>{{/value}}</pre>{{/isAsset}}{{/isEditable}}{{/fields}}
            <div class="actions"><button name="do" value="save">Save</button></div>
            {{^isNew}}<details><summary>Delete</summary><p>The record goes, and what refers to it with DELETE_SELF goes with it.</p><button class="danger" name="do" value="delete" formnovalidate>Delete {{title}}</button></details>{{/isNew}}
            </form>

            """#,
        "zones": #"""
            {{> place}}
            <p class="faint">Zones of your own private database, zones that others share with you, and the public database.</p>
            <div class="scroll"><table><thead><tr><th scope="col">Zone</th><th scope="col">Owner</th><th scope="col">Changes</th></tr></thead><tbody>
            {{#zones}}<tr><td>{{name}}</td><td><code>{{owner}}</code></td><td>{{#address}}<a href="{{address}}">Change feed</a>{{/address}}</td></tr>{{/zones}}
            </tbody></table></div>

            """#,
        "changes": #"""
            {{> place}}
            {{> asks}}
            {{#problem}}<p class="problem" role="alert">{{problem}}</p>{{/problem}}
            {{#follow}}<div class="row follow"><p class="faint" id="state" role="status">Waiting for changes.</p><button type="button" class="plain" id="pause" aria-pressed="false">Pause</button></div>{{/follow}}
            <div class="scroll"><table><thead><tr><th scope="col">Record</th><th scope="col">Type</th><th scope="col">Tag</th><th scope="col">What</th></tr></thead><tbody id="changes"{{#follow}} data-scope="{{scope}}" data-zone="{{zone}}" data-owner="{{owner}}" data-token="{{token}}" data-records="{{records}}"{{/follow}}>
            {{#rows}}<tr data-name="{{name}}"><td>{{#isGone}}<span class="gone">{{name}}</span>{{/isGone}}{{^isGone}}<a href="{{address}}">{{name}}</a>{{/isGone}}</td><td>{{type}}</td><td><code>{{tag}}</code></td><td class="time">{{what}}</td></tr>{{/rows}}
            </tbody></table></div>
            {{^rows}}<p class="faint" id="nothing">Nothing changed since the token.</p>{{/rows}}
            <p><a href="{{next}}">{{#isMore}}Next page{{/isMore}}{{^isMore}}What changed since this page{{/isMore}}</a></p>

            """#,
    ]
}
