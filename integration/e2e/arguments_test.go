package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// cataloged is a server of both eras whose catalog is written out, so that it
// may be odd, and may be another for each caller. Whatever it is asked to call
// succeeds.
func cataloged(tools func(subject string) string) *recorder {
	return record(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var message struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil || message.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`
		switch message.Method {
		case "initialize":
			result = `{"protocolVersion":"` + legacy + `","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}`
		case "tools/list":
			result = `{"resultType":"complete","tools":[` + tools(r.Header.Get("X-Mcp-App-Subject")) + `]}`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(message.ID)+`,"result":`+result+`}`)
	}))
}

func toolWith(name, inputSchema string) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":%s}`, name, inputSchema)
}

// Arguments are held to the schema that the server has shown to this caller,
// in both dialects, before it sees them.
func TestArgumentsAreHeldToTheSchemaTheCallerHasSeen(t *testing.T) {
	const draft07 = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object",
		"definitions":{"pair":{"type":"array","items":[{"type":"string"}],"additionalItems":false}},
		"properties":{"pair":{"$ref":"#/definitions/pair"}}}`
	tools := func(subject string) string {
		most := 3
		if strings.HasPrefix(subject, "erin") {
			most = 9
		}
		return toolWith("put", fmt.Sprintf(`{"type":"object","required":["n"],"additionalProperties":false,
			"properties":{"n":{"type":"integer","maximum":%d}}}`, most)) + "," +
			toolWith("pair", draft07) + "," + toolWith("odd", `{"type":"object","$ref":"https://schemas.example/a"}`)
	}
	for name, config := range map[string]struct {
		lines     string
		asError   bool // JSON-RPC's own, not a result
		passesOdd bool
	}{
		"as a result":    {lines: "validate_arguments\n"},
		"as an error":    {lines: "validate_arguments {\non_invalid error\n}\n", asError: true},
		"odd ones pass":  {lines: "validate_arguments {\non_unsupported pass\n}\n", passesOdd: true},
		"all at a time":  {lines: "validate_arguments {\non_invalid error\non_unsupported pass\n}\n", asError: true, passesOdd: true},
		"odd ones don't": {lines: "validate_arguments {\non_unsupported refuse\n}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			server := cataloged(tools)
			g := startBefore(t, server, endpoint(strings.Replace(allTools, "tool *", config.lines+"tool *", 1)))
			for _, era := range eras {
				erin, victor := g.caller(t, era, editor("acme")), g.caller(t, era, viewer("acme"))
				for _, call := range []struct {
					who       *caller
					tool      string
					arguments string
					good      bool
					says      string
				}{
					{victor, "put", `{"n":3}`, true, ""},
					{erin, "put", `{"n":9}`, true, ""},
					{victor, "put", `{"n":9}`, false, "n"},
					{erin, "put", `{"n":10}`, false, "n"},
					{erin, "put", `{"n":3.5}`, false, "n"},
					{erin, "put", `{"n":1,"m":1}`, false, "m"},
					{erin, "put", `{}`, false, "n"},
					{erin, "pair", `{"pair":["a"]}`, true, ""},
					{erin, "pair", `{"pair":["a",1]}`, false, "pair"},
					{erin, "odd", `{}`, config.passesOdd, "cannot be checked"},
				} {
					what := era + ", " + call.tool + " " + call.arguments
					before := server.toolCalls()
					a := call.who.raw(t, "tools/call", call.tool, `{"name":"`+call.tool+`","arguments":`+call.arguments+`}`)
					arrived := server.toolCalls() - before
					if call.good {
						if arrived != 1 || a.code() != "" || string(a.message.Get("result", "isError")) == "true" {
							t.Errorf("%s: good arguments: %d calls, %s", what, arrived, a)
						}
						continue
					}
					if arrived != 0 {
						t.Errorf("%s: the server saw it", what)
					}
					if string(a.message.Get("id")) != "7" || !strings.Contains(string(a.body), call.says) {
						t.Errorf("%s: %s, want the id and %q", what, a, call.says)
					}
					if asError := a.code() == "-32602"; asError != config.asError || !asError && string(a.message.Get("result", "isError")) != "true" {
						t.Errorf("%s: answered by the wrong one of result and error: %s", what, a)
					}
				}
			}
		})
	}
}

// Bounds of a rule need no schema, and none of the server's word.
func TestArgumentsAreBoundedWithoutASchema(t *testing.T) {
	server := cataloged(func(string) string { return toolWith("put", `{}`) + "," + toolWith("other", `{}`) })
	g := startBefore(t, server, endpoint("policy {\ntool put {\nmax_bytes 40\nmax_depth 2\n}\ntool other\n}\n"))
	for _, era := range eras {
		c := g.caller(t, era, viewer("acme"))
		for arguments, good := range map[string]bool{
			`{"a":{"b":1}}`:  true,
			`{"a":{"b":[]}}`: false,
			`{"a":"` + strings.Repeat("x", 32) + `"}`:  true,
			`{"a":"` + strings.Repeat("x", 33) + `"}`:  false,
			`{"a":"` + strings.Repeat("x", 900) + `"}`: false,
		} {
			before := server.toolCalls()
			a := c.raw(t, "tools/call", "put", `{"name":"put","arguments":`+arguments+`}`)
			failed := a.code() != "" || string(a.message.Get("result", "isError")) == "true"
			if arrived := server.toolCalls() > before; arrived != good || failed == good || string(a.message.Get("id")) != "7" {
				t.Errorf("%s: %s: arrived %t: %s", era, arguments, arrived, a)
			}
			if a := c.raw(t, "tools/call", "other", `{"name":"other","arguments":`+arguments+`}`); a.code() != "" {
				t.Errorf("%s: a tool without bounds: %s", era, a)
			}
		}
	}
}
