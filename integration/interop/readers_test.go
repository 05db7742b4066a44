package interop

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// recording is an answer as it came over the wire.
type recording struct {
	Status int         `json:"status"`
	Header http.Header `json:"header"`
	Body   []byte      `json:"body"`
}

func (r recording) String() string {
	return fmt.Sprintf("%d %q %q %.700q", r.Status, r.Header.Values("Content-Type"), r.Header.Values("Content-Encoding"), r.Body)
}

// lists are the members of results that clients take for lists, each with the
// member that names an element.
var lists = map[string]string{"tools": "name", "prompts": "name", "resources": "uri", "resourcetemplates": "uritemplate"}

// lenientNames returns all names that some client might read as elements of
// lists in a text: out of every value in it, whichever of repeated members
// counts, in any case, also in batches.
func lenientNames(text string) (names []string) {
	dec := json.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	for {
		v, err := readValue(dec, 0)
		if err != nil {
			return names
		}
		messages := []value{v}
		if v.elements != nil {
			messages = v.elements
		}
		for _, message := range messages {
			for _, result := range message.get("result") {
				for list, name := range lists {
					for _, elements := range result.get(list) {
						for _, element := range elements.elements {
							for _, found := range element.get(name) {
								if found.isText {
									names = append(names, found.text)
								}
							}
						}
					}
				}
			}
		}
	}
}

// value is JSON with all its repeated members.
type value struct {
	text     string
	isText   bool
	names    []string
	members  []value
	elements []value
}

// get returns every member of a name, in whichever case.
func (v value) get(name string) (found []value) {
	for i, candidate := range v.names {
		if strings.EqualFold(candidate, name) {
			found = append(found, v.members[i])
		}
	}
	return found
}

func readValue(dec *json.Decoder, depth int) (v value, err error) {
	token, err := dec.Token()
	if err != nil || depth > 1000 {
		return v, err
	}
	switch token := token.(type) {
	case string:
		v.text, v.isText = token, true
	case json.Delim:
		for dec.More() {
			if token == '{' {
				name, err := dec.Token()
				if err != nil {
					return v, err
				}
				v.names = append(v.names, name.(string))
			}
			member, err := readValue(dec, depth+1)
			if err != nil {
				return v, err
			}
			if token == '{' {
				v.members = append(v.members, member)
			} else {
				v.elements = append(v.elements, member)
			}
		}
		_, err = dec.Token()
	}
	return v, err
}

// lenientReader returns the names a reader finds that takes an answer for JSON
// and, unless its status says otherwise, for events, whatever its label says.
func lenientReader(r recording) (names []string) {
	body := r.Body
	if strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Content-Encoding"), ",")), "gzip") {
		if unpacked, err := gunzip(body); err == nil {
			body = unpacked
		}
	}
	texts := []string{string(body)}
	if r.Status/100 == 2 {
		texts = append(texts, strings.TrimLeftFunc(string(body), isBlank))
	}
	label, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if r.Status/100 == 2 || strings.EqualFold(label, "text/event-stream") {
		texts = append(texts, lenientEvents(string(body))...)
	}
	for _, text := range texts {
		names = append(names, lenientNames(text)...)
	}
	return names
}

// lenientEvents returns the data of events as readers of several kinds see it:
// with every line ending or LF only, lines joined or each for itself, of any
// event type, names of fields in any case and with blanks around.
func lenientEvents(body string) (texts []string) {
	everyEnding := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(body)
	for _, stream := range []string{everyEnding, body} {
		var data []string
		flush := func() {
			texts = append(texts, strings.Join(data, "\n"), strings.Join(data, ""))
			texts = append(texts, data...)
			data = nil
		}
		for line := range strings.SplitSeq(strings.TrimPrefix(stream, "\ufeff"), "\n") {
			if line = strings.TrimRight(line, "\r"); line == "" {
				flush()
				continue
			}
			if field, content, ok := strings.Cut(line, ":"); ok && strings.EqualFold(strings.TrimSpace(field), "data") {
				data = append(data, strings.TrimLeftFunc(content, isBlank))
			}
		}
		flush()
	}
	return texts
}

func isBlank(c rune) bool { return unicode.IsSpace(c) || c == '\ufeff' }

func gunzip(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// replay answers every request with a recording.
type replay recording

func (r replay) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: r.Status, Header: r.Header, Body: io.NopCloser(bytes.NewReader(r.Body)), Request: req}, nil
}

// goClient returns the names that the client of the Go SDK finds.
func goClient(t *testing.T, r recording) (names []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	transport := &mcp.StreamableClientTransport{Endpoint: "http://replay/mcp", HTTPClient: &http.Client{Transport: replay(r)}, MaxRetries: -1}
	conn := must(transport.Connect(ctx))(t)
	defer func() { _ = conn.Close() }()
	id := must(jsonrpc.MakeID(float64(1)))(t)
	if err := conn.Write(ctx, &jsonrpc.Request{ID: id, Method: "tools/list", Params: json.RawMessage(`{}`)}); err != nil {
		return nil
	}
	for {
		message, err := conn.Read(ctx)
		if err != nil {
			if ctx.Err() != nil {
				t.Errorf("the Go SDK's client waits for ever on %v", r)
			}
			return names
		}
		if response, ok := message.(*jsonrpc.Response); ok {
			names = append(names, lenientNames(`{"result":`+string(response.Result)+`}`)...)
			if response.ID == id {
				return names
			}
		}
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
			return names // JSON is one message
		}
	}
}

// isShown says whether the policy of the tests shows a name.
func isShown(name string) bool { return slices.Contains(shown, name) }

// hidden returns the names that it does not show.
func hidden(names []string) []string {
	names = slices.DeleteFunc(slices.Clone(names), isShown)
	slices.Sort(names)
	return slices.Compact(names)
}
