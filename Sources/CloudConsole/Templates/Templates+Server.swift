// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension Templates {
    /// People, tokens, log.
    static let server: [String: String] = [
        "users": #"""
            {{#made}}<p class="good" role="status">{{made}}</p>{{/made}}{{#secret}}<p>Device token, shown once:</p><p class="secret">{{secret}}</p>{{/secret}}
            <div class="scroll"><table><thead><tr><th scope="col">Account</th><th scope="col">Name</th><th scope="col">Email</th><th scope="col">Found by others</th><th scope="col">Operator</th><th scope="col" class="number">Takes</th><th scope="col">Devices</th></tr></thead><tbody>
            {{#users}}<tr><td><a href="/console/users/{{account}}">{{account}}</a></td><td>{{name}}</td><td>{{email}}</td><td>{{discoverable}}</td><td>{{operator}}</td><td class="number">{{takes}}</td><td>{{devices}}</td></tr>{{/users}}
            </tbody></table></div>
            <h2>New account</h2>
            <form class="card" method="post"><input type="hidden" name="form" value="{{form}}"><div class="row">
            <div><label for="account">Account</label><input id="account" name="account" required pattern="[A-Za-z0-9._@\-]{1,64}"></div>
            <button name="do" value="add">Make account</button></div></form>

            """#,
        "user": #"""
            {{#secret}}<p>Device token, shown once:</p><p class="secret" role="status">{{secret}}</p>{{/secret}}
            <form class="card" method="post"><input type="hidden" name="form" value="{{form}}">
            <label for="given">Given name</label><input id="given" name="given" value="{{given}}">
            <label for="family">Family name</label><input id="family" name="family" value="{{family}}">
            <label for="email">Email address</label><input id="email" name="email" type="email" value="{{email}}">
            <p><label class="inline"><input type="checkbox" name="discoverable" value="yes"{{#discoverable}} checked{{/discoverable}}> Others find this person by address</label>
            <label class="inline"><input type="checkbox" name="operator" value="yes"{{#operator}} checked{{/operator}}> May use this console</label></p>
            <div class="actions"><button name="do" value="profile">Save</button></div></form>
            <form class="card" method="post"><input type="hidden" name="form" value="{{form}}">
            <label for="password">New password</label><input id="password" name="password" type="password" minlength="8" autocomplete="new-password" required>
            <p class="faint">It ends the person's sessions on pages.</p>
            <div class="actions"><button name="do" value="password">Set password</button></div></form>
            <form class="card" method="post"><input type="hidden" name="form" value="{{form}}">
            <h2>Devices and sessions</h2>
            <div class="scroll"><table><thead><tr><th scope="col">Kind</th><th scope="col">Name</th><th scope="col">Began</th><th scope="col">Last use</th><th scope="col">Address</th><th scope="col">Platform</th><th scope="col"></th></tr></thead><tbody>
            {{#accesses}}<tr><td>{{kind}}</td><td>{{label}}</td><td>{{began}}</td><td>{{lastUse}}</td><td>{{network}}</td><td>{{platform}}</td><td><button class="danger" name="revoke" value="{{value}}" aria-label="Revoke {{kind}} {{label}}" formnovalidate>Revoke</button></td></tr>{{/accesses}}
            </tbody></table></div>{{^accesses}}<p class="faint">No device has a token, and nobody is signed in.</p>{{/accesses}}
            <div class="row"><div><label for="device">Label of another device</label><input id="device" name="device" required maxlength="64"></div>
            <button name="do" value="device">Make device token</button></div></form>
            <form class="card" method="post"><input type="hidden" name="form" value="{{form}}">
            <h2>What private databases take</h2>
            <div class="scroll"><table><thead><tr><th scope="col">Container</th><th scope="col">Environment</th><th scope="col" class="number">Records</th><th scope="col" class="number">Files</th></tr></thead><tbody>
            {{#usage}}<tr><td>{{container}}</td><td>{{environment}}</td><td class="number">{{records}}</td><td class="number">{{files}}</td></tr>{{/usage}}
            </tbody></table></div>
            <div class="row"><div><label for="quota">Quota in bytes, in each container</label><input id="quota" name="quota" inputmode="numeric" pattern="[0-9]*" value="{{quota}}" placeholder="as the server's limits say; 0 for any number"></div>
            <button name="do" value="quota">Set quota</button></div></form>

            """#,
        "tokens": #"""
            {{> place}}
            {{#secret}}<p>Made. It is shown once:</p><p class="secret" role="status">{{secret}}</p>{{/secret}}
            <h2>API tokens of web pages</h2>
            <div class="scroll"><table><thead><tr><th scope="col">Label</th><th scope="col">Origins</th><th scope="col">Callback</th><th scope="col"></th></tr></thead><tbody>
            {{#tokens}}<tr><td>{{label}}</td><td>{{origins}}</td><td>{{callback}}</td><td><form method="post"><input type="hidden" name="form" value="{{form}}"><input type="hidden" name="id" value="{{id}}"><button class="danger" name="do" value="remove-token" aria-label="Remove {{label}}">Remove</button></form></td></tr>{{/tokens}}
            </tbody></table></div>{{^tokens}}<p class="faint">No tokens.</p>{{/tokens}}
            <form class="card" method="post"><input type="hidden" name="form" value="{{form}}"><div class="row">
            <div><label for="label">Label</label><input id="label" name="label" required></div>
            <div><label for="origins">Allowed origins</label><input id="origins" name="origins" placeholder="all; or https://app.example.org …"></div>
            <div><label for="callback">Callback</label><input id="callback" name="callback" type="url" placeholder="none"></div>
            <button name="do" value="add-token">Make token</button></div></form>
            <h2>Server-to-server keys</h2>
            <div class="scroll"><table><thead><tr><th scope="col">Label</th><th scope="col">Key ID</th><th scope="col"></th></tr></thead><tbody>
            {{#keys}}<tr><td>{{label}}</td><td><code>{{id}}</code></td><td><form method="post"><input type="hidden" name="form" value="{{form}}"><input type="hidden" name="id" value="{{id}}"><button class="danger" name="do" value="remove-key" aria-label="Remove {{label}}">Remove</button></form></td></tr>{{/keys}}
            </tbody></table></div>{{^keys}}<p class="faint">No keys.</p>{{/keys}}
            <form class="card" method="post"><input type="hidden" name="form" value="{{form}}">
            <label for="keylabel">Label</label><input id="keylabel" name="label" required>
            <label for="pem">Public key on P-256, in PEM</label><textarea id="pem" class="short" name="pem" required placeholder="-----BEGIN PUBLIC KEY-----"></textarea>
            <div class="actions"><button name="do" value="add-key">Register key</button></div></form>

            """#,
        "roles": #"""
            {{> place}}
            {{^roles}}<p>There are no roles of this app's own. <code>CREATE ROLE Moderators;</code> in the schema makes one.</p>{{/roles}}
            {{#saved}}<p class="good" role="status">{{saved}}</p>{{/saved}}
            <form class="card" method="get"><div class="row">
            <div><label for="account">Account</label><select id="account" name="account">{{#accounts}}<option{{#isOn}} selected{{/isOn}}>{{name}}</option>{{/accounts}}</select></div>
            <button class="plain">Show roles</button></div></form>
            {{#chosen}}<form class="card" method="post"><input type="hidden" name="form" value="{{form}}"><input type="hidden" name="account" value="{{chosen}}">
            <h2>Roles of {{chosen}}</h2>
            {{#roles}}<p><label class="inline"><input type="checkbox" name="r.{{name}}" value="yes"{{#isOn}} checked{{/isOn}}> {{name}}</label></p>{{/roles}}
            <div class="actions"><button>Save</button></div></form>{{/chosen}}

            """#,
        "audit": #"""
            <p class="faint">Sign-ins, refusals, changes by operators and commands, and each look of an operator into records. It has no values and no names of records.</p>
            <div class="scroll"><table><thead><tr><th scope="col">Time</th><th scope="col">Actor</th><th scope="col">Network</th><th scope="col">Action</th><th scope="col">Subject</th><th scope="col">Outcome</th></tr></thead><tbody>
            {{#events}}<tr><td>{{time}}</td><td>{{actor}}</td><td>{{network}}</td><td>{{action}}</td><td>{{subject}}</td><td>{{outcome}}</td></tr>{{/events}}
            </tbody></table></div>{{^events}}<p class="faint">No events.</p>{{/events}}
            {{#older}}<p><a href="{{older}}">Older events</a></p>{{/older}}

            """#,
        "log": #"""
            <div class="row follow"><p class="faint" id="state" role="status">Waiting for the first answer.</p><button type="button" class="plain" id="pause" aria-pressed="false">Pause</button></div>
            <div class="scroll"><table><thead><tr><th scope="col">Time</th><th scope="col">Method</th><th scope="col">Endpoint</th><th scope="col" class="number">Status</th><th scope="col">Error</th><th scope="col" class="number">ms</th><th scope="col">Request</th></tr></thead><tbody id="rows"></tbody></table></div>

            """#,
    ]
}
