package interop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/node"
)

// shown are the names that the policy of these tests shows.
var shown = []string{"open_a", "open_b", "note://open", "note://open/{page}"}

const shownPolicy = `tool open_a
tool open_b
prompt open_a
prompt open_b
resource note://open
template note://open/{page}`

// answer is what a server of the test sends, byte for byte.
type answer struct {
	status int
	header [][2]string
	chunks []string // sent one by one
}

func (a answer) String() string {
	return fmt.Sprintf("%d %q %.700q", a.status, a.header, strings.Join(a.chunks, ""))
}

// direct is the answer as a client without the gateway would get it.
func (a answer) direct() recording {
	header := http.Header{}
	for _, line := range a.header {
		header.Add(line[0], line[1])
	}
	return recording{a.status, header, []byte(strings.Join(a.chunks, ""))}
}

// oddServer gives the same answer to everything.
type oddServer struct{ next atomic.Pointer[answer] }

func (s *oddServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	a := s.next.Load()
	w.Header()["Content-Type"] = nil // no guesses
	for _, line := range a.header {
		w.Header().Add(line[0], line[1])
	}
	w.WriteHeader(a.status)
	for _, chunk := range a.chunks {
		_, _ = io.WriteString(w, chunk)
		_ = http.NewResponseController(w).Flush()
	}
}

// odd is a gateway before an oddServer.
type odd struct {
	*gateway
	server *oddServer
	client *http.Client
}

func startOdd(t *testing.T) *odd {
	t.Helper()
	server := &oddServer{}
	g := start(t, upstream{handler: server}, setup{policy: shownPolicy})
	transport := g.Transport()
	transport.DisableCompression = true
	t.Cleanup(transport.CloseIdleConnections)
	return &odd{g, server, &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// requests are the ways to ask; whichever it is, the answer may hold a list.
var requests = []string{legacy, modern, "GET"}

// get asks in one of these ways and records what the gateway makes of an answer.
func (o *odd) get(t *testing.T, a answer, request string) recording {
	t.Helper()
	o.server.next.Store(&a)
	method, body, revision := http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, legacy
	switch request {
	case "GET":
		method, body = http.MethodGet, ""
	case modern:
		revision = modern
		body = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	}
	r := must(http.NewRequestWithContext(t.Context(), method, o.url, strings.NewReader(body)))(t)
	r.Header.Set("Authorization", "Bearer "+o.token)
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", revision)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if revision == modern {
		r.Header.Set("Mcp-Method", "tools/list")
	}
	resp, err := o.client.Do(r)
	if err != nil {
		t.Fatalf("%s of %v: %v", request, a, err)
	}
	defer resp.Body.Close()
	got, _ := io.ReadAll(resp.Body) // a broken answer counts as far as it came
	return recording{resp.StatusCode, resp.Header, got}
}

// judge reports hidden names that a Go client or a lenient one finds in what the
// gateway made of an answer, and returns how many others are found.
func judge(t *testing.T, a answer, request string, got recording) int {
	t.Helper()
	lenient := lenientReader(got)
	for reader, names := range map[string][]string{"a lenient reader": lenient, "the Go SDK's client": goClient(t, got)} {
		if leaked := hidden(names); len(leaked) > 0 {
			t.Errorf("%s finds %q after %s\nserver:  %v\ngateway: %v", reader, leaked, request, a, got)
		}
	}
	return len(lenient) - len(slices.DeleteFunc(slices.Clone(lenient), isShown))
}

// judgeInJS does the same with a reader in JavaScript, for all answers at once.
func judgeInJS(t *testing.T, asked []answer, got []recording) {
	t.Helper()
	t.Run("JavaScript", func(t *testing.T) {
		reader := node.Require(t).Command(t.Context(), "reader.mjs")
		var input bytes.Buffer
		for _, recorded := range got {
			if err := json.NewEncoder(&input).Encode(recorded); err != nil {
				t.Fatal(err)
			}
		}
		reader.Stdin, reader.Stderr = &input, t.Output()
		output := must(reader.Output())(t)
		lines := bufio.NewScanner(bytes.NewReader(output))
		lines.Buffer(nil, 16<<20)
		for i := range got {
			var names []string
			if !lines.Scan() {
				t.Fatalf("the reader stopped after %d of %d answers: %v", i, len(got), lines.Err())
			}
			if err := json.Unmarshal(lines.Bytes(), &names); err != nil {
				t.Fatal(err)
			}
			if leaked := hidden(names); len(leaked) > 0 {
				t.Errorf("JavaScript finds %q\nserver:  %v\ngateway: %v", leaked, asked[i], got[i])
			}
		}
	})
}
