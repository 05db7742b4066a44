package e2e

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"slices"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// answer is what came back.
type answer struct {
	status  int
	header  http.Header
	body    []byte
	framing string        // the media type of the body
	message rawjson.Value // the JSON body or the last message of the stream, nil if there is none
}

func readAnswer(t *testing.T, response *http.Response) *answer {
	t.Helper()
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("reading the answer after %q: %v", body, err)
	}
	a := &answer{status: response.StatusCode, header: response.Header, body: body}
	a.framing, _, _ = mime.ParseMediaType(response.Header.Get("Content-Type"))
	message := body
	if a.framing == "text/event-stream" {
		for event := range bytes.SplitSeq(body, []byte("\n\n")) {
			if _, data, ok := bytes.Cut(event, []byte("data: ")); ok && len(data) > 0 {
				message = data
			}
		}
	}
	a.message, _ = rawjson.ParseLenient(message, 64) // nil for other bodies
	return a
}

// String is what failing tests print.
func (a *answer) String() string {
	return http.StatusText(a.status) + " " + a.framing + " " + string(a.body)
}

// wantStatus checks that an answer has one of some statuses.
func wantStatus(t *testing.T, what string, a *answer, statuses ...int) {
	t.Helper()
	if !slices.Contains(statuses, a.status) {
		t.Errorf("%s: status %d, want %d: %s", what, a.status, statuses, a)
	}
}

// code returns the JSON-RPC error code, "" if the message is no error.
func (a *answer) code() string { return string(a.message.Get("error", "code")) }

// names lists a member of the elements of a list in the result.
func (a *answer) names(list, member string) []string {
	names := []string{}
	for element := range a.message.Get("result", list).Elements() {
		name, _ := element.Get(member).Text()
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
