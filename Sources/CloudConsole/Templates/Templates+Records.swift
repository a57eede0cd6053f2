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
            {{#records}}<tr><td><a href="{{address}}">{{name}}</a></td>{{#cells}}<td><code>{{.}}</code></td>{{/cells}}<td>{{modified}}</td></tr>{{/records}}
            </tbody></table></div>
            {{^records}}<p class="faint">No records.</p>{{/records}}
            {{#more}}<p><a href="{{more}}">Next page</a></p>{{/more}}

            """#,
        "record": #"""
            {{> place}}
            {{#problem}}<p class="problem" role="alert">{{problem}}</p>{{/problem}}
            <form class="card" method="post" id="record" data-upload="{{upload}}" data-type="{{type}}">
            <input type="hidden" name="form" value="{{form}}"><input type="hidden" name="tag" value="{{tag}}">
            {{#isNew}}<label for="name">Name</label><input id="name" name="name" placeholder="made by the server">{{/isNew}}
            {{^isNew}}<p class="faint">Type {{type}} · created {{created}} · modified {{modified}} · tag {{tag}}{{#share}} · in share {{share}}{{/share}}{{#parent}} · below {{parent}}{{/parent}}</p>{{/isNew}}
            {{#fields}}<label for="f.{{name}}">{{name}} <span class="faint">{{type}}</span></label>
            {{#isEditable}}<input id="f.{{name}}" name="f.{{name}}" value="{{value}}"{{#hint}} placeholder="{{hint}}"{{/hint}}>{{/isEditable}}{{#isAsset}}<p class="file">{{#file}}<a href="{{file}}" download="{{name}}">{{value}}</a>{{/file}}{{^file}}<span class="faint">no file</span>{{/file}}
            <input type="file" id="f.{{name}}" data-field="{{name}}"><input type="hidden" name="a.{{name}}"><span class="faint" role="status"></span></p>{{/isAsset}}{{^isEditable}}{{^isAsset}}<pre id="f.{{name}}">{{value}}</pre>{{/isAsset}}{{/isEditable}}{{/fields}}
            <div class="actions"><button name="do" value="save">Save</button>{{^isNew}}<button class="danger" name="do" value="delete">Delete</button>{{/isNew}}</div>
            </form>

            """#,
        "zones": #"""
            {{> place}}
            <p class="faint">Zones of your own private database, and zones that others share with you.</p>
            <div class="scroll"><table><thead><tr><th scope="col">Zone</th><th scope="col">Owner</th><th scope="col">Changes</th></tr></thead><tbody>
            {{#zones}}<tr><td>{{name}}</td><td><code>{{owner}}</code></td><td>{{#address}}<a href="{{address}}">Change feed</a>{{/address}}</td></tr>{{/zones}}
            </tbody></table></div>

            """#,
        "changes": #"""
            {{> place}}
            {{#problem}}<p class="problem" role="alert">{{problem}}</p>{{/problem}}
            <div class="scroll"><table><thead><tr><th scope="col">Record</th><th scope="col">Type</th><th scope="col">Tag</th><th scope="col">What</th></tr></thead><tbody>
            {{#records}}<tr><td>{{#isGone}}<span class="gone">{{name}}</span>{{/isGone}}{{^isGone}}<a href="{{address}}">{{name}}</a>{{/isGone}}</td><td>{{type}}</td><td><code>{{tag}}</code></td><td>{{what}}</td></tr>{{/records}}
            </tbody></table></div>
            {{^records}}<p class="faint">Nothing changed since the token.</p>{{/records}}
            <p><a href="{{next}}">{{#isMore}}Next page{{/isMore}}{{^isMore}}What changed since this page{{/isMore}}</a></p>

            """#,
    ]
}
