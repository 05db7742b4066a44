package discovery

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func stream(w http.ResponseWriter) func(string) error {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	return func(text string) error {
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		return flush.Flush()
	}
}

// TestHostileServers: whatever a server does, there is an end to it, a class,
// and no copy of it on our side.
func TestHostileServers(t *testing.T) {
	list := func(tools ...string) string { return `{"tools":[` + strings.Join(tools, ",") + `]}` }
	many := make([]string, 10_000)
	for i := range many {
		many[i] = fmt.Sprintf(`{"name":"t%d","inputSchema":{}}`, i)
	}
	for _, tt := range []struct {
		name   string
		answer any
		want   Class
	}{
		{"silent", respond(func(_ http.ResponseWriter, r *http.Request, _ json.RawMessage) { <-r.Context().Done() }), Timeout},
		{"headers, then silent", respond(func(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
			_ = stream(w)(": hello\n\n")
			<-r.Context().Done()
		}), Timeout},
		{"a byte now and then", respond(func(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
			send := stream(w)
			for send(":") == nil && r.Context().Err() == nil {
				time.Sleep(20 * time.Millisecond)
			}
		}), Timeout},
		{"comments without end", respond(func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
			comment := ": " + strings.Repeat("x", 64<<10) + "\n\n"
			for send := stream(w); send(comment) == nil; {
			}
		}), TooLarge},
		{"messages without end", respond(func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
			for send := stream(w); send(`data: {"jsonrpc":"2.0","method":"notifications/message"}`+"\n\n") == nil; {
			}
		}), TooLarge},
		{"an event of 5 MiB", respond(func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
			_ = stream(w)("data: " + strings.Repeat(" ", 5<<20) + "\n\n")
		}), TooLarge},
		{"a message of 13 MiB", respond(func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, strings.Repeat(" ", 13<<20))
		}), TooLarge},
		{"a gzip bomb", respond(func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.CopyN(z, blanks{}, 256<<20)
			_ = z.Close()
		}), TooLarge},
		{"another compression", respond(func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
			w.Header().Set("Content-Encoding", "br")
			_, _ = io.WriteString(w, "x")
		}), Malformed},
		{"10,000 tools", list(many...), TooLarge},
		{"the same tool twice", list(`{"name":"a","inputSchema":{}}`, `{"name":"a","inputSchema":{}}`), Malformed},
		{"a tool without a schema", list(`{"name":"a"}`), Malformed},
		{"a schema that is none", list(`{"name":"a","inputSchema":[]}`), Malformed},
		{"a schema that is null", list(`{"name":"a","inputSchema":null}`), Malformed},
		{"a tool without a name", list(`{"inputSchema":{}}`), Malformed},
		{"a name read in two ways", list(`{"name":"a","Name":"b","inputSchema":{}}`), Malformed},
		{"members twice", list(`{"name":"a","name":"b","inputSchema":{}}`), Malformed},
		{"a deep schema", list(`{"name":"a","inputSchema":` + strings.Repeat(`{"items":`, 100) + `{}` + strings.Repeat(`}`, 100) + `}`), TooLarge},
		{"a very deep schema", list(`{"name":"a","inputSchema":` + strings.Repeat(`{"items":`, 100_000) + `{}` + strings.Repeat(`}`, 100_000) + `}`), TooLarge},
		{"no list", `{}`, Malformed},
		{"a cursor in circles", `{"tools":[],"nextCursor":"x"}`, Malformed},
		{"a batch", respond(func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `[{"jsonrpc":"2.0","id":%s,"result":%s}]`, id, oneTool)
		}), Malformed},
		{"broken off", respond(func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
			_ = stream(w)("data: {")
			panic(http.ErrAbortHandler)
		}), Protocol},
		{"a redirect", respond(func(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
			http.Redirect(w, r, "/elsewhere", http.StatusPermanentRedirect)
		}), Redirect},
		{"an error without end", respond(func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
			w.WriteHeader(http.StatusUnauthorized)
			for _, err := io.WriteString(w, "no "); err == nil; _, err = io.WriteString(w, "no ") {
			}
		}), Authentication},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, map[string]any{"tools/list": tt.answer, "tools/list x": tt.answer})
			engine := &Engine{}
			if tt.want == Timeout {
				engine.Timeout = 3 * time.Second // a busy machine must get as far as the list
			}
			report, failure := s.discover(t, engine, Target{Token: "t0ken-of-the-caller"})
			if failure == nil || failure.Class != tt.want || failure.During != "tools/list" {
				t.Fatalf("%v, want %s", failure, tt.want)
			}
			if last := report.Steps[len(report.Steps)-1]; last.RPC != "tools/list" || last.Bytes > 13<<20 {
				t.Errorf("evidence %+v", last)
			}
			if len(report.Tools) > 2000 {
				t.Errorf("%d tools are kept", len(report.Tools))
			}
		})
	}
}

// blanks is an endless text that compresses well.
type blanks struct{}

func (blanks) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte{' '}, len(p))), nil }

// Two thousand tools are within the bound, one more is not, and pages count
// together.
func TestTheBoundOfToolsIsOverAllPages(t *testing.T) {
	page := func(from, count int, next string) string {
		tools := make([]string, count)
		for i := range tools {
			tools[i] = fmt.Sprintf(`{"name":"t%d","inputSchema":{}}`, from+i)
		}
		return `{"tools":[` + strings.Join(tools, ",") + `]` + next + `}`
	}
	for more, want := range map[int]Class{1000: "", 1001: TooLarge} {
		s := newServer(t, map[string]any{"tools/list": page(0, 1000, `,"nextCursor":"2"`), "tools/list 2": page(1000, more, "")})
		report, failure := s.discover(t, nil, Target{})
		if (failure == nil) != (want == "") || failure != nil && failure.Class != want || len(report.Tools) != 2000 {
			t.Errorf("%d more: %v, %d tools", more, failure, len(report.Tools))
		}
	}
}

func TestCookiesAreNotKept(t *testing.T) {
	s := newServer(t, map[string]any{"server/discover": respond(func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
		http.SetCookie(w, &http.Cookie{Name: "track", Value: "me"})
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"]}}`, id)
	})})
	report, failure := s.discover(t, nil, Target{})
	if failure != nil {
		t.Fatal(failure)
	}
	if !report.Steps[0].Cookie || report.Steps[0].Header.Get("Set-Cookie") != "" {
		t.Errorf("evidence %+v", report.Steps[0])
	}
	for _, h := range s.got {
		if h.Get("Cookie") != "" {
			t.Errorf("a cookie was sent back: %v", h)
		}
	}
}

// Line ends may be any of three, and packets may end anywhere.
func TestStreamsMayBeCutAnywhere(t *testing.T) {
	for name, lineEnd := range map[string]string{"LF": "\n", "CR": "\r", "CRLF": "\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cut := 0
			length := 1
			s := newServer(t, map[string]any{"tools/list": respond(func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
				text := strings.ReplaceAll("\ufeff: hello\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":"+string(id)+",\"result\":\ndata:"+oneTool+"}\n\n", "\n", lineEnd)
				length = len(text)
				send := stream(w)
				_ = send(text[:min(cut, length)])
				_ = send(text[min(cut, length):])
			})})
			for ; cut < length; cut++ {
				report, failure := s.discover(t, &Engine{ToolsOnly: true}, Target{})
				if failure != nil || !slices.Equal(names(report.Tools), []string{"a"}) {
					t.Fatalf("cut at byte %d: %v", cut, failure)
				}
			}
		})
	}
}

// Nothing a server writes reaches a terminal or a log as it is, and it cannot
// make us repeat what we sent.
func TestWhatAServerSaysIsCleaned(t *testing.T) {
	const token, key = "t0ken-of-the-caller", "k3y-of-the-caller"
	nasty := "\x1b]0;owned\x07 \u202egnp\u0000\r\nInjected: line " + token + " Bearer abcdef123456 sk-abcdefghijk " + key[:4] + "\x01" + key[4:] + strings.Repeat("long ", 1000)
	quoted, _ := json.Marshal(nasty)
	for name, answers := range map[string]map[string]any{
		"in an error": {"tools/list": `error:{"code":-32000,"message":` + string(quoted) + `}`},
		"in a status": {"tools/list": respond(func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
			w.WriteHeader(403)
			fmt.Fprintf(w, `{"id":%s,"error":{"code":1,"message":%s}}`, id, quoted)
		})},
		"in a name":   {"tools/list": `{"tools":[{"name":` + string(quoted) + `}]}`},
		"in a member": {"tools/list": `{"tools":[],` + string(quoted) + `:1,` + string(quoted) + `:2}`},
		"in a redirect": {"tools/list": respond(func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
			w.Header().Set("Location", "https://elsewhere.example/"+token+"?x="+key)
			w.WriteHeader(302)
		})},
	} {
		s := newServer(t, answers)
		_, failure := s.discover(t, nil, Target{Token: token, Header: http.Header{"X-Key": {key}}})
		if failure == nil {
			t.Fatalf("%s: no failure", name)
		}
		text := failure.Error()
		for _, secret := range []string{token, key, "abcdef123456", "sk-abcdefghijk"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s: %q is repeated in %q", name, secret, text)
			}
		}
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u202e' }) || len([]rune(text)) > 3*MaxText {
			t.Errorf("%s: not cleaned: %q", name, text)
		}
	}
}

func TestCleanKeepsWhatCanBeRead(t *testing.T) {
	for text, want := range map[string]string{
		"Grüße, 世界!":            "Grüße, 世界!",
		" a\n\tb  c\u2028d":     "a b c d",
		"\x1b[31mred":           "[31mred",
		"broken \xff utf-8":     "broken utf-8",
		"":                      "",
		strings.Repeat("ä", 20): strings.Repeat("ä", 20),
		strings.Repeat("ä", 21): strings.Repeat("ä", 19) + "…",
		"the s3\u200bcret":      "the [redacted]",
	} {
		if got := Clean(text, 20, []string{"s3cret"}); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
