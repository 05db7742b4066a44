package mcp

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

func TestAnAnswerIsGatheredWithinItsBounds(t *testing.T) {
	id := rawjson.Value(`"mcp-app-1"`)
	other := "data: {\"method\":\"x\"}\n\n"
	for name, tt := range map[string]struct {
		text     string
		stream   bool
		complete bool
		tooLarge bool
	}{
		"JSON is read to its end":              {`{"id":"mcp-app-1"}`, false, false, false},
		"a stream up to the message":           {other + "data: {\"id\":\"mcp-app-1\"}\n\n", true, true, false},
		"a stream without it":                  {other, true, false, false},
		"64 messages before it":                {strings.Repeat(other, 64) + "data: {\"id\":\"mcp-app-1\"}\n\n", true, true, false},
		"65 messages before it":                {strings.Repeat(other, 65), true, false, true},
		"any number of comments before it":     {strings.Repeat(": c\n\n", 1000) + "data: {\"id\":\"mcp-app-1\"}\n\n", true, true, false},
		"an event of 4 MiB and more":           {"data: " + strings.Repeat(" ", MaxAnswerEvent) + "\n\n", true, false, true},
		"JSON of 4 MiB and more":               {strings.Repeat(" ", MaxAnswerEvent+1), false, false, false},
		"JSON of 12 MiB and more":              {strings.Repeat(" ", MaxAnswerBytes+1), false, false, true},
		"what follows the message is no fault": {"data: {\"id\":\"mcp-app-1\"}\n\n" + strings.Repeat(other, 100), true, true, false},
	} {
		c := Collector{ID: id}
		var err error
		for rest := tt.text; rest != "" && err == nil; {
			n := min(len(rest), 1<<20)
			err = c.Add([]byte(rest[:n]), tt.stream)
			rest = rest[n:]
		}
		if errors.Is(err, ErrTooLarge) != tt.tooLarge || err != nil && !tt.tooLarge || c.Complete() != tt.complete {
			t.Errorf("%s: complete %v, %v", name, c.Complete(), err)
		}
	}
}

// The gateway's own catalog has the same second chance as a command.
func TestACatalogIsAskedForOnceMoreAfterAPassingFailure(t *testing.T) {
	r := read(t, modern("tools/list", ""), `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+meta+`}}`)
	ok := &Answer{Status: http.StatusOK, Header: header("Content-Type", "application/json")}
	status := func(code int) *Answer { return &Answer{Status: code, Header: http.Header{}} }
	for name, tt := range map[string]struct {
		answers []*Answer // nil: no answer at all
		err     error
		asked   int
		had     bool
	}{
		"no answer once":    {[]*Answer{nil, ok}, errors.New("reset"), 2, true},
		"no answer twice":   {[]*Answer{nil, nil, ok}, errors.New("reset"), 2, false},
		"502":               {[]*Answer{status(502), ok}, nil, 2, true},
		"503":               {[]*Answer{status(503), ok}, nil, 2, true},
		"504":               {[]*Answer{status(504), ok}, nil, 2, true},
		"401":               {[]*Answer{status(401), ok}, nil, 1, false},
		"403":               {[]*Answer{status(403), ok}, nil, 1, false},
		"429":               {[]*Answer{status(429), ok}, nil, 1, false},
		"500":               {[]*Answer{status(500), ok}, nil, 1, false},
		"too large":         {[]*Answer{nil, ok}, ErrTooLarge, 1, false},
		"malformed":         {[]*Answer{nil, ok}, ErrMalformed, 1, false},
		"the deadline came": {[]*Answer{nil, ok}, context.DeadlineExceeded, 1, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			asked := 0
			ask := func(_ context.Context, _ string, _ http.Header, _ []byte, id rawjson.Value) (*Answer, error) {
				answer := tt.answers[asked]
				asked++
				if answer == nil {
					if errors.Is(tt.err, context.DeadlineExceeded) {
						cancel()
					}
					return nil, tt.err
				}
				answer.Body = []byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"tools":[]}}`)
				return answer, nil
			}
			if _, err := AskCatalog(ctx, ask, r, http.Header{}, 10); (err == nil) != tt.had || asked != tt.asked {
				t.Errorf("%s: asked %d times, %v", name, asked, err)
			}
		})
	}
}
