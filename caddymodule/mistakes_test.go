package caddymodule

import (
	"fmt"
	"strings"
	"testing"
)

// here marks the line that an error must name.
const here = " # here"

// mistakes are lines of a mcp_app block, and what its author is told.
var mistakes = []struct{ name, lines, want string }{
	{"unknown subdirective", "resorce https://x" + here, `unrecognized subdirective "resorce", expected one of: audit, auth, call_drain, hosts, identity,`},
	{"unknown line of auth", "auth {\nisuer https://id.example" + here + "\n}", `unrecognized subdirective "isuer", expected one of:`},
	{"unknown line of an issuer", "auth {\nissuer https://id.example {\njwks https://x" + here + "\n}\n}", `unrecognized subdirective "jwks", expected one of: algorithms, jwks_url, token_type`},
	{"unknown line of a rule", "policy {\ntool x {\nscope a" + here + "\n}\n}", `unrecognized subdirective "scope", expected one of:`},
	{"unknown line of tenant", "tenant {\nclaims x" + here + "\n}", `unrecognized subdirective "claims", expected one of:`},
	{"unknown limit", "limits {\nbody 1MiB" + here + "\n}", `unrecognized subdirective "body", expected one of:`},

	{"resource without a value", "resource" + here, "resource takes exactly one argument"},
	{"resource with two", "resource https://a https://b" + here, "resource takes exactly one argument"},
	{"resource twice", "resource https://a\nresource https://b" + here, "resource already specified: https://a"},
	{"origins without a value", "origins" + here, "origins takes at least one argument"},
	{"preserve_host with a value", "preserve_host yes" + here, `preserve_host stands alone, without "yes"`},
	{"root_metadata with another word", "root_metadata perhaps" + here, `root_metadata takes on or off, not "perhaps"`},
	{"keep_alive of no duration", "keep_alive soon" + here, `expected a duration such as 30s, got "soon"`},

	{"auth with an argument", "auth strict {" + here + "\n}", `unrecognized subdirective "strict", expected one of: audience,`},
	{"auth twice", "auth {\nmode none\n}\nauth {" + here + "\n}", "auth already specified"},
	{"unknown mode", "auth {\nmode lax" + here + "\n}", "expected: mode strict, mode mixed, mode none, or mode none public"},
	{"public of another mode", "auth {\nmode strict public" + here + "\n}", "expected: mode strict, mode mixed, mode none, or mode none public"},
	{"mode twice", "auth {\nmode none\nmode strict" + here + "\n}", "mode already specified: none"},
	{"issuer without a URL", "auth {\nissuer" + here + "\n}", "issuer takes exactly one URL; its details go into a block"},
	{"issuer with more", "auth {\nissuer https://a https://a/keys" + here + "\n}", "issuer takes exactly one URL; its details go into a block"},
	{"algorithm none", "auth {\nissuer https://a {\nalgorithms none" + here + "\n}\n}", `"none"`},
	{"symmetric algorithm", "auth {\nissuer https://a {\nalgorithms HS256" + here + "\n}\n}", `"HS256"`},
	{"unknown token type", "auth {\nissuer https://a {\ntoken_type at-jwt" + here + "\n}\n}", `expected one of at+jwt, jwt, any, got "at-jwt"`},
	{"negative leeway", "auth {\nleeway -5s" + here + "\n}", `expected a duration such as 30s, got "-5s"`},
	{"scopes without a value", "auth {\nscopes" + here + "\n}", "scopes takes at least one argument"},

	{"tenant twice", "tenant {\nclaim a\n}\ntenant {" + here + "\n}", "tenant already specified"},
	{"claim twice", "tenant {\nclaim a\nclaim b" + here + "\n}", "claim already specified: a"},

	{"audit twice", "audit {\n}\naudit {" + here + "\n}", "audit already specified"},
	{"more than all", "audit {\nallow 101%" + here + "\n}", `expected off, all, or a percentage such as 1%, got "101%"`},
	{"no percentage", "audit {\nallow some" + here + "\n}", `expected off, all, or a percentage such as 1%, got "some"`},
	{"no number of percents", "audit {\nallow NaN%" + here + "\n}", `expected off, all, or a percentage`},
	{"arguments of no tool", "audit {\narguments path" + here + "\n}", "expected: arguments <tool or pattern> <argument>..."},
	{"too many arguments", "audit {\narguments x a b c d e f g h i j k l m n o p q" + here + "\n}", "name 1 to 16 arguments"},
	{"too much of an argument", "audit {\nargument_bytes 5000" + here + "\n}", "write a number from 1 to 4096"},

	{"unknown default", "policy {\ndefault open" + here + "\n}", `expected one of deny, allow, got "open"`},
	{"rule without a name", "policy {\ntool" + here + "\n}", "tool takes exactly one name or pattern; conditions go into a block"},
	{"rule with two names", "policy {\ntool a b" + here + "\n}", "tool takes exactly one name or pattern; conditions go into a block"},
	{"empty name", "policy {\ntool \"\"" + here + "\n}", "write a name, or * for all"},
	{"deny with conditions", "policy {\ntool a {\ndeny\nscopes b\n}" + here + "\n}", "deny stands alone; remove the other lines or remove deny"},
	{"deny with a value", "policy {\ntool a {\ndeny all" + here + "\n}\n}", `deny stands alone, without "all"`},
	{"challenge for nothing", "policy {\ntool a {\non_missing_scope challenge\n}" + here + "\n}", "on_missing_scope challenge needs a scopes line to challenge for"},
	{"unknown answer", "policy {\ntool a {\non_missing_scope ask" + here + "\n}\n}", `expected one of hide, challenge, got "ask"`},
	{"the same rule twice", "policy {\ntool a\ntool a" + here + "\n}", `tool rules "a" and "a" fit the same names and are equally specific`},
	{"rules of equal weight", "policy {\ntool a*\ntool *a" + here + "\n}", "make one of them longer or join them"},

	{"entrypoint without a type", "openai {\nentrypoint a" + here + "\n}", "expected: entrypoint <tool> global"},
	{"unknown entrypoint", "openai {\nentrypoint a everywhere" + here + "\n}", `"everywhere"`},
	{"display of nothing", "openai {\ndisplay" + here + "\n}", "expected: display <ui:// pattern> [inline] [fullscreen]"},
	{"display of another scheme", "openai {\ndisplay https://x inline" + here + "\n}", "ui://"},
	{"unknown display mode", "openai {\ndisplay ui://x popup" + here + "\n}", `"popup"`},
	{"preferred but not available", "openai {\ndisplay ui://x inline {\nprefer fullscreen\n}" + here + "\n}", "fullscreen"},
	{"page of two addresses", "openai {\npage ui://x ui://y" + here + "\n}", "expected: page <ui:// pattern>, with its properties in a block"},
	{"unknown line of a page", "openai {\npage ui://x {\nnavigation a" + here + "\n}\n}", `unrecognized subdirective "navigation", expected one of: border, client, description, display_modes,`},
	{"client of another kind", "openai {\npage ui://x {\nclient on" + here + "\n}\n}", "expected: client inject [event|hash|history], or client off"},
	{"client in a page of another scheme", "openai {\npage https://x {\nclient inject\n}" + here + "\n}", "ui://"},
	{"navigate without a tool", "openai {\npage ui://x {\nnavigate" + here + "\n}\n}", "expected: navigate <tool> [event|hash|history]"},
	{"navigate twice", "openai {\npage ui://x {\nnavigate a\nnavigate b" + here + "\n}\n}", "navigate already specified: a"},
	{"two routes", "openai {\npage ui://x {\nclient inject hash\nnavigate a history" + here + "\n}\n}", "where links go is already specified: hash"},
	{"unknown route", "openai {\npage ui://x {\nnavigate a path\n}" + here + "\n}", `unknown "path": write event, hash or history`},
	{"no tool name", "openai {\npage ui://x {\nnavigate \"open it\"\n}" + here + "\n}", `"open it" is no tool name`},
	{"client off and on", "openai {\npage ui://x {\nclient off\nnotice No.\n}" + here + "\n}", "leave one of the two out"},
	{"unknown handshake", "openai {\npage ui://x {\nhandshake firm" + here + "\n}\n}", `expected one of auto, always, never, got "firm"`},
	{"client twice for one address", "openai {\npage ui://x {\nclient inject\n}\npage ui://x {\nnotice No.\n}" + here + "\n}", "declared twice: keep one"},
	{"host that is no origin", "openai {\npage ui://x {\nhosts chatgpt.com\n}" + here + "\n}", `"chatgpt.com" is no origin`},
	{"settings with one tool", "openai {\nsettings a" + here + "\n}", "expected: settings <read tool> <update tool>"},
	{"settings twice", "openai {\nsettings a b\nsettings a b" + here + "\n}", "settings already specified"},
	{"settings of one tool only", "openai {\nsettings a a" + here + "\n}", "two"},

	{"navigate without a tool", "links {\nnavigate" + here + "\n}", "navigate takes exactly one argument"},
	{"identity headers twice", "identity {\nheaders A-\nheaders B-" + here + "\n}", "headers already specified: A-"},
	{"registrations twice", "registrations {\nparameter a\n}\nregistrations" + here + " {\nparameter b\n}", "registrations already specified"},
	{"a parameter with an equals sign", "registrations {\nparameter a=b" + here + "\n}", `the parameter "a=b" must be letters`},
	{"a header of the protocol", "registrations {\nheader Authorization" + here + "\n}", `the header "Authorization" must begin with X-`},
	{"no life", "registrations {\nmax_ttl long" + here + "\n}", `"long"`},
	{"no size", "limits {\nmessage big" + here + "\n}", `expected a size such as 4MiB, got "big"`},
	{"size zero", "limits {\nmessage 0" + here + "\n}", `expected a size such as 4MiB, got "0"`},
	{"size without end", "limits {\nmessage 2TiB" + here + "\n}", `expected a size such as 4MiB, got "2TiB"`},
	{"number zero", "limits {\ntools 0" + here + "\n}", `expected a positive number, got "0"`},
	{"no number", "limits {\ndepth deep" + here + "\n}", `expected a positive number, got "deep"`},
}

func TestEveryMistakeIsNamedWithItsLineAndTheFix(t *testing.T) {
	for _, tt := range mistakes {
		t.Run(tt.name, func(t *testing.T) {
			text := "https://gw.example {\n\tmcp_app /mcp 127.0.0.1:3000 {\n" + tt.lines + "\n\t}\n}\n"
			before, _, _ := strings.Cut(text, here)
			line := 1 + strings.Count(before, "\n")
			_, err := adapt(text)
			wantMistake(t, err, line, tt.want)
		})
	}
}

// wantMistake checks that an error says something, and where.
func wantMistake(t testing.TB, err error, line int, want string) {
	t.Helper()
	if err == nil {
		t.Fatalf("accepted, want %q", want)
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %q, want it to say %q", err, want)
	}
	if !strings.Contains(err.Error(), fmt.Sprintf("at Caddyfile:%d", line)) {
		t.Errorf("the error is %q, want it to name line %d", err, line)
	}
}

func TestMistakesInTheFirstLineAreNamedToo(t *testing.T) {
	for first, want := range map[string]string{
		"mcp_app":                                "mcp_app needs the path of its endpoint: mcp_app /mcp [<upstream>...]",
		"mcp_app *":                              `not a matcher: write mcp_app /mcp instead of "*"`,
		"mcp_app @mcp /mcp 127.0.0.1:3000":       `not a matcher: write mcp_app /mcp instead of "@mcp"`,
		"mcp_app 127.0.0.1:3000":                 `not a matcher: write mcp_app /mcp instead of "127.0.0.1:3000"`,
		"mcp_app /mcp/* 127.0.0.1:3000":          "not a matcher: write mcp_app /mcp",
		"mcp_app /mcp* 127.0.0.1:3000":           "not a matcher: write mcp_app /mcp",
		"mcp_app /mcp 127.0.0.1:3000/mcp":        "without path",
		"mcp_app /mcp ftp://127.0.0.1":           "write http, https or unix/",
		"mcp_app /mcp 127.0.0.1:3000 a.example/": "without path",
	} {
		t.Run(first, func(t *testing.T) {
			_, err := adapt("https://gw.example {\n\t" + first + " {\n\t}\n}\n")
			wantMistake(t, err, 2, want)
		})
	}
}
