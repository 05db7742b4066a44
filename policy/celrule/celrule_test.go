package celrule

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func jsonObject(text string) func() ([]byte, error) {
	return func() ([]byte, error) { return []byte(text), nil }
}

// caller is a request that the conditions of the tests are judged by.
func caller() Input {
	return Input{
		Issuer: "https://login", Subject: "ann", Tenant: "acme", ClientID: "app",
		Scopes: []string{"cad.read"}, Roles: func() ([]string, error) { return []string{"editor"}, nil },
		Claims: map[string]any{
			"roles": []any{"admin", "user"}, "level": int64(7), "huge": uint64(1) << 63, "ratio": 0.5,
			"org": map[string]any{"id": "acme"}, "verified": true, "nothing": nil,
		},
		Method: "tools/call", Name: "cad.open", ClientIP: "10.1.2.3",
		Headers:     func() map[string]string { return map[string]string{"x-region": "eu"} },
		Arguments:   jsonObject(`{"path":"/parts/a","id":9007199254740993,"tags":["x","y"],"deep":{"n":null}}`),
		Annotations: jsonObject(`{"readOnlyHint":true}`),
	}
}

func compile1(t testing.TB, text string) *Expression {
	t.Helper()
	e, err := Compile(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return e
}

func TestConditionsSeeCallerClaimsAndRequest(t *testing.T) {
	tests := []struct {
		text string
		want bool
	}{
		{`principal.issuer == "https://login" && principal.subject == "ann"`, true},
		{`principal.tenant == "acme" && principal.client_id == "app"`, true},
		{`"cad.read" in principal.scopes && !("cad.write" in principal.scopes)`, true},
		{`principal.roles.exists(r, r.startsWith("edit"))`, true},
		{`"admin" in claims.roles`, true},
		{`"root" in claims.roles`, false},
		{`claims.level > 6 && claims.level < 7.5 && claims.level == 7`, true},
		{`claims.huge > 9223372036854775807u`, true},
		{`claims.org.id == principal.tenant`, true},
		{`claims["org"]["id"] == "acme"`, true},
		{`has(claims.org) && !has(claims.team)`, true},
		{`claims.verified == true && claims.nothing == null`, true},
		{`request.method == "tools/call" && request.name == "cad.open"`, true},
		{`request.arguments.path.matches("^/parts/")`, true},
		{`request.arguments.id == 9007199254740993`, true},
		{`request.arguments.id == 9007199254740992`, false},
		{`request.arguments.tags.all(t, t in ["x", "y", "z"])`, true},
		{`request.arguments.deep.n == null`, true},
		{`request.annotations.readOnlyHint == true`, true},
		{`request.headers["x-region"] == "eu" && !("x-other" in request.headers)`, true},
		{`cidr("10.0.0.0/8").containsIP(request.client_ip)`, true},
		{`request.client_ip == "10.1.2.4"`, false},
		{`claims.roles.exists(r, request.arguments.tags.exists(t, t == r)) || principal.tenant == "acme"`, true},
	}
	for _, tt := range tests {
		got, cost, err := compile1(t, tt.text).Eval(caller())
		if got != tt.want || err != nil || cost == 0 {
			t.Errorf("%s = %v, %v at cost %d, want %v", tt.text, got, err, cost, tt.want)
		}
	}
}

// What cannot be judged is not met, whichever way round it was asked.
func TestErrorsMeanNo(t *testing.T) {
	in := caller()
	in.ClientIP, in.Headers, in.Arguments = "", nil, nil
	in.Roles = func() ([]string, error) { return nil, errors.New("roles claim is a number") }
	in.Annotations = func() ([]byte, error) { return nil, errors.New("catalog could not be had") }
	for _, text := range []string{
		`"admin" in claims.groups`,
		`!("banned" in claims.groups)`,
		`claims.level.startsWith("7")`,
		`claims.level == 7 && claims.missing == 1`,
		`request.client_ip != "10.0.0.1"`,
		`!("banned" in principal.roles)`,
		`!("x-blocked" in request.headers)`,
		`!has(request.arguments.path)`,
		`request.annotations.readOnlyHint == true`,
		`1 / (claims.level - 7) == 1`,
	} {
		if met, _, err := compile1(t, text).Eval(in); met || err == nil {
			t.Errorf("%s = %v, %v, want false and an error", text, met, err)
		}
	}
	for name, raw := range map[string]string{
		"not an object":   `[1]`,
		"repeated name":   `{"path":"/a","path":"/b"}`,
		"trailing value":  `{} {}`,
		"cut off":         `{"path":`,
		"not UTF-8":       "{\"path\":\"\xff\"}",
		"beyond 64 bits":  `{"path":18446744073709551616}`,
		"out of range":    `{"path":1e999}`,
		"too deep":        `{"path":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
		"larger than all": `{"path":"` + strings.Repeat("x", MaxArguments) + `"}`,
	} {
		in.Arguments = jsonObject(raw)
		if met, _, err := compile1(t, `has(request.arguments.path) || true`).Eval(in); !met || err != nil {
			t.Errorf("%s: what is not needed must not fail: %v", name, err)
		}
		if met, _, err := compile1(t, `!has(request.arguments.x)`).Eval(in); met || err == nil {
			t.Errorf("%s: met with %.40q", name, raw)
		}
	}
}

func TestMistakesAreRefusedAtLoadWithTheirPlace(t *testing.T) {
	tests := []struct{ text, want string }{
		{``, "empty"},
		{`  `, "empty"},
		{`principal.tennant == "acme"`, "it has only the fields issuer, subject, tenant"},
		{`claims.a == 1 &&` + "\n" + `  principal.nme == "x"`, "line 2, column 3"},
		{`request.argument.x == 1`, "client_ip"},
		{`user == "x"`, "line 1, column 1: undeclared reference to 'user'"},
		{`claims.admin`, "gives dyn, not bool"},
		{`principal.subject`, "gives string, not bool"},
		{`principal.subject == 1`, "line 1, column 19"},
		{`"a" in principal.subject`, "no matching overload"},
		{`principal.subject == "a`, "line 1, column"},
		{`request.headers["X-Region"] == "eu"`, "write x-region"},
		{`"X-Region" in request.headers`, "write x-region"},
		{`request.arguments.a.matches(request.arguments.b)`, "must be written out"},
		{`principal.subject.matches("(")`, "line 1, column 26: error parsing regexp"},
		{`principal.subject.matches("(a{50}){50}")`, "invalid repeat count"},
		{`principal.subject.matches("a{900}")`, "program size"},
		{strings.Repeat(`true && `, MaxLength/8) + `true`, "longer than"},
		{strings.Repeat(`(`, 200) + `true` + strings.Repeat(`)`, 200), "recursion"},
		{`claims.a.all(a, claims.a.all(b, claims.a.all(c, claims.a.all(d, a == b && c == d))))`, "fewer loops"},
		{`claims.a.map(a, claims.a.map(b, claims.a.map(c, [a, b, c]))).size() > 0`, "fewer loops"},
	}
	for _, tt := range tests {
		if _, err := Compile(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.80q: got %v, want an error saying %q", tt.text, err, tt.want)
		}
	}
}

// An expression that is fine for plausible input is stopped where the input is
// not.
func TestEvaluationStopsAtItsCost(t *testing.T) {
	many := make([]any, 20_000)
	for i := range many {
		many[i] = strings.Repeat("a", 64)
	}
	in := caller()
	in.Claims = map[string]any{"many": many}
	in.Arguments = jsonObject(`{"text":"` + strings.Repeat("a", MaxArguments-100) + `"}`)
	for _, text := range []string{
		`claims.many.all(a, claims.many.all(b, a == b))`,
		`!claims.many.exists(a, claims.many.exists(b, a != b))`,
		`claims.many.all(a, a != request.name)`,
		`request.arguments.text.matches("^(a|aa|aaa)*(b|c)(a|aa|aaa)*$")`,
		`request.arguments.text.contains(request.arguments.text + "b")`,
	} {
		met, cost, err := compile1(t, text).Eval(in)
		if met || err == nil || !strings.Contains(err.Error(), "cost limit") {
			t.Errorf("%s = %v, %v at cost %d, want it stopped", text, met, err, cost)
		}
	}
}

func TestExpressionsTellWhatTheyRead(t *testing.T) {
	tests := []struct {
		text string
		want Reads
	}{
		{`"admin" in claims.roles && principal.tenant != ""`, Reads{}},
		{`request.arguments.a == request.client_ip`, Reads{Arguments: true, ClientIP: true}},
		{`claims.l.exists(request_name, request_name == request.name)`, Reads{Name: true}},
		{`request.headers["b"] == "1" || request.headers.a == "2" || "b" in request.headers`, Reads{Headers: true, HeaderNames: []string{"a", "b"}}},
		{`request.headers.all(h, h != "x")`, Reads{Headers: true}},
		{`request.annotations.readOnlyHint == true && request.method != "x"`, Reads{Annotations: true, Method: true}},
	}
	for _, tt := range tests {
		got := compile1(t, tt.text).Reads()
		if fmt.Sprint(got) != fmt.Sprint(tt.want) || !slices.Equal(got.HeaderNames, tt.want.HeaderNames) {
			t.Errorf("%s reads %+v, want %+v", tt.text, got, tt.want)
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		`"admin" in claims.roles`, `claims.a.all(x, x.b.exists(y, y == 1))`, `request.headers["x"].matches("^a+$")`,
		`cidr("10.0.0.0/8").containsIP(request.client_ip)`, `has(claims.a) ? claims.a == [1, 2.0, "3", b'4', null, {1: 2}] : false`,
		`((((`, `"\u12`, "a\x00b", `principal.`, `duration("1h") > duration(claims.d)`, `timestamp(claims.exp) > timestamp("2020-01-01T00:00:00Z")`,
	} {
		f.Add(seed, `{"a":[1,{"b":[2]}]}`)
	}
	f.Fuzz(func(t *testing.T, text, arguments string) {
		e, err := Compile(text)
		if err != nil {
			if e != nil {
				t.Fatal("both an expression and an error")
			}
			return
		}
		in := caller()
		in.Arguments = jsonObject(arguments)
		met, cost, err := e.Eval(in)
		if met && err != nil {
			t.Fatal("met in spite of an error")
		}
		if err == nil && cost > MaxCost {
			t.Fatalf("cost %d went unnoticed", cost)
		}
	})
}

func BenchmarkEval(b *testing.B) {
	e := compile1(b, `"admin" in claims.roles && claims.org.id == principal.tenant`)
	in := caller()
	b.ReportAllocs()
	for b.Loop() {
		if met, _, err := e.Eval(in); !met || err != nil {
			b.Fatal(met, err)
		}
	}
}
