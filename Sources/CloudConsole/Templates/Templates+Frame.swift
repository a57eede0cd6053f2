// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension Templates {
    /// The frame of every page, sign-in and what anybody may see.
    static let frame: [String: String] = [
        "frame": #"""
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>{{title}} · Tarn</title>
            <link rel="stylesheet" href="/console.css">
            <link rel="icon" href="/console.svg" type="image/svg+xml">
            </head>
            <body>
            <a class="skip" href="#main">To the content</a>
            <header>
            <strong>Tarn</strong>
            <nav aria-label="Pages">{{#menu}}<a href="{{address}}"{{#isHere}} aria-current="page"{{/isHere}}>{{name}}</a>{{/menu}}</nav>
            {{#person}}<form method="post" action="/console/signout"><input type="hidden" name="form" value="{{form}}">
            <span>{{person}}</span><button class="plain">Sign out</button></form>{{/person}}
            </header>
            <main id="main">
            <h1>{{title}}</h1>
            {{{body}}}
            </main>
            {{#scripts}}<script src="{{.}}"></script>{{/scripts}}
            </body>
            </html>

            """#,
        "problem": #"""
            <div class="card">{{#lines}}<p class="problem" role="alert">{{.}}</p>{{/lines}}
            <p><a href="/console">To the console</a></p></div>

            """#,
        "share": #"""
            <div class="card narrow"><p>Open this link on a device that has the app. It shows what is shared once you accept.</p>
            <p class="faint">Link: <code>{{guid}}</code></p></div>

            """#,
        "signin": #"""
            <form class="card narrow" method="post" action="{{^console}}/signin?flow={{flow}}{{/console}}{{#console}}/console/signin{{/console}}">
            <p class="faint">{{#console}}For operators of this server.{{/console}}{{^console}}{{#origin}}The site <strong>{{origin}}</strong> asks you to sign in to {{container}}. Go on only if you came from there.{{/origin}}{{^origin}}For {{container}}{{/origin}}{{/console}}</p>
            {{#problem}}<p class="problem" role="alert">{{problem}}</p>{{/problem}}
            <label for="name">Name or email address</label>
            <input id="name" name="name" autocomplete="username" required autofocus>
            <label for="password">Password</label>
            <input id="password" name="password" type="password" autocomplete="current-password" required>
            <p><label class="inline"><input type="checkbox" name="keep" value="yes"> Stay signed in for two weeks</label></p>
            <div class="actions"><button>Sign in</button></div>
            </form>

            """#,
        "signedin": #"""
            <div class="card narrow" id="token" data-token="{{token}}" data-origin="{{origin}}">
            <p class="good">You are signed in.</p><p>You can close this window and go on in the app.</p></div>

            """#,
        "overview": #"""
            {{^containers}}<div class="card"><p>No app has used this server yet.</p>
            <p class="faint">Make an account with <code>tarn user add NAME</code> and point an app at this address.</p></div>{{/containers}}
            {{#containers}}<section class="card"><h2>{{name}}</h2>
            <p><a href="/console/c/{{name}}/development/types">Development</a> · <a href="/console/c/{{name}}/production/types">Production</a></p>
            </section>{{/containers}}

            """#,
        "asks": #"""
            {{#asks}}<div hidden id="asks" data-container="{{container}}" data-environment="{{environment}}" data-code="{{code}}"></div>{{/asks}}

            """#,
        "place": #"""
            <p class="faint">{{container}} · {{environment}} {{#other}}· <a href="{{otherAddress}}">{{other}}</a>{{/other}}</p>

            """#,
    ]
}
