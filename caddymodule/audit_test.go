package caddymodule

import (
	"net/http"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// TestAllowedMessagesAreSampled: about as many as the percentage says, every
// refusal, and nothing where nothing is asked for.
func TestAllowedMessagesAreSampled(t *testing.T) {
	for _, tt := range []struct {
		lines    string
		min, max int
	}{
		{"", 0, 0},
		{"audit {\nallow off\n}\n", 0, 0},
		{"audit {\nallow all\n}\n", 2000, 2000},
		{"audit {\nallow 10%\n}\n", 100, 320}, // nine standard deviations
	} {
		m := mustLoad(t, open+tt.lines)
		core, logs := observer.New(zapcore.DebugLevel)
		m.auditLogger = zap.New(core)
		r := prepared(post(t, "{}", nil), nil)
		for range 2000 {
			m.settle(r, decided{decision: "allow"})
		}
		if n := logs.Len(); n < tt.min || n > tt.max {
			t.Errorf("%q: %d of 2000", tt.lines, n)
		}
		logs.TakeAll()
		m.settle(r, decided{decision: "hide", cause: "default"})
		if logs.Len() != 1 || logs.All()[0].Message != "request refused" || logs.All()[0].Level != zapcore.InfoLevel {
			t.Errorf("%q: a refusal is recorded as %v", tt.lines, logs.All())
		}
	}
}

// TestAFirstVisitIsNoAlarm: a client that has not logged in yet is asked to, and
// that is worth a line at DEBUG only.
func TestAFirstVisitIsNoAlarm(t *testing.T) {
	m := newTokenIssuer(t).endpoint(t)
	core, logs := observer.New(zapcore.DebugLevel)
	m.auditLogger = zap.New(core)
	r := post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil)
	if w := serve(t, m, r, noTools); w.Code != http.StatusUnauthorized {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	entries := logs.All()
	if len(entries) != 1 || entries[0].Level != zapcore.DebugLevel || entries[0].ContextMap()["cause"] != causeNoToken {
		t.Errorf("%v", entries)
	}
}

// TestTextsOfStrangersAreBounded: whatever they send, a record is short, valid
// and holds nothing a terminal acts on.
func TestTextsOfStrangersAreBounded(t *testing.T) {
	for text, want := range map[string]string{
		"list_decks":              "list_decks",
		"a\nb\x1b[1m":             `a\x0ab\x1b[1m`,
		"\u202eevil\u2028":        `\u202eevil\u2028`,
		"\xff":                    `\xff`,
		strings.Repeat("é", 1000): strings.Repeat("é", maxLogged/2) + "…",
	} {
		if got := loggable(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	if got := bounded("aé", 2); got != "a…" {
		t.Errorf("a torn character: %q", got)
	}
}
