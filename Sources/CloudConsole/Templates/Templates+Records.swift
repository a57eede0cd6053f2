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
            <button class="skip" name="do" value="save" tabindex="-1" aria-hidden="true">Save</button>
            {{#conflict}}<div class="conflict"><p class="problem" role="alert">Another client has saved the record since this form was loaded. Nothing of the form was saved.</p>
            <div class="scroll"><table><thead><tr><th scope="col">Field</th><th scope="col">This form</th><th scope="col">Saved now</th></tr></thead><tbody>
            {{#rows}}<tr><td>{{name}}</td><td><pre>{{mine}}</pre></td><td><pre>{{theirs}}</pre>{{#isTheirs}}<span class="faint">changed since</span>{{/isTheirs}}</td></tr>{{/rows}}
            </tbody></table></div>
            <p class="actions"><a href="{{address}}">Load the saved version</a>{{#canSave}}<button class="danger" name="over" value="{{tag}}">Write this form's fields over the saved version</button>{{/canSave}}</p></div>{{/conflict}}
            {{#isNew}}<label for="name">Name</label><input id="name" name="name" value="{{name}}" placeholder="made by the server">{{/isNew}}
            {{^isNew}}<p class="faint">Type {{type}} · created {{created}} · modified {{modified}} · tag {{tag}}{{#share}} · in share {{share}}{{/share}}{{#parent}} · below {{parent}}{{/parent}}</p>{{/isNew}}
            {{#fields}}<div class="field"><input type="hidden" name="o.{{name}}" value="{{print}}">
            {{^list}}<label for="f.{{name}}">{{name}} <span class="faint">{{type}}</span></label>{{/list}}
            {{#isLine}}<input id="f.{{name}}" name="f.{{name}}" value="{{value}}"{{#hint}} placeholder="{{hint}}"{{/hint}}>{{/isLine}}{{#isText}}<textarea class="line" id="f.{{name}}" name="f.{{name}}" rows="{{rows}}">{{text}}</textarea>{{/isText}}{{#isAsset}}<p class="file">{{#file}}<a href="{{file}}" download="{{name}}">{{shown}}</a>{{/file}}{{^file}}<span class="faint">no file</span>{{/file}}
            <input type="file" id="f.{{name}}" data-field="{{name}}"><input type="hidden" name="a.{{name}}"><span class="faint" role="status"></span></p>{{/isAsset}}{{#isFixed}}<pre id="f.{{name}}">{{shown}}</pre>{{/isFixed}}
            {{#list}}<fieldset><legend>{{name}} <span class="faint">{{type}}</span></legend><input type="hidden" name="c.{{name}}" value="{{stored}}">
            {{#rows}}<div class="row element">{{#isText}}<textarea class="line" name="v.{{index}}.{{name}}" rows="{{height}}" aria-label="{{name}} value {{number}}">{{text}}</textarea>{{/isText}}{{^isText}}<input name="v.{{index}}.{{name}}" value="{{value}}" aria-label="{{name}} value {{number}}">{{/isText}}{{#isStored}}<label class="inline tight"><input type="checkbox" name="x.{{index}}.{{name}}" value="yes"{{#isRemoved}} checked{{/isRemoved}} aria-label="remove {{name}} value {{number}}"> remove</label>{{/isStored}}{{#canBeEmpty}}<label class="inline tight"><input type="checkbox" name="k.{{index}}.{{name}}" value="yes"{{#isKeptEmpty}} checked{{/isKeptEmpty}} aria-label="add {{name}} value {{number}} though empty"> add, though empty</label>{{/canBeEmpty}}{{#detail}}<span class="faint tight">{{detail}}</span>{{/detail}}</div>{{/rows}}
            <button class="plain" name="more" value="{{name}}">More rows for {{name}}</button></fieldset>{{/list}}
            <p class="faint">{{#detail}}{{detail}} · {{/detail}}<label class="inline"><input type="checkbox" name="n.{{name}}" value="yes"{{#hasNoValue}} checked{{/hasNoValue}} aria-label="no value for {{name}}"> no value</label></p></div>{{/fields}}
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
