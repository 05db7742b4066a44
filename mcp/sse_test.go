package mcp

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

// split feeds src in pieces of the given size and returns the events.
func split(t testing.TB, src string, size, limit int) (events []Event, err error) {
	t.Helper()
	s := Splitter{Limit: limit}
	collect := func(e Event) error {
		e.Raw, e.rest = bytes.Clone(e.Raw), bytes.Clone(e.rest)
		if e.Data != nil {
			e.Data = append([]byte{}, e.Data...)
		}
		events = append(events, e)
		return nil
	}
	for piece := range slices.Chunk([]byte(src), max(size, 1)) {
		if err := s.Write(piece, collect); err != nil {
			return events, err
		}
	}
	return events, s.Close(collect)
}

func TestEventsAreFoundInEveryLineEnding(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r"} {
		src := strings.ReplaceAll("\ufeffevent: message\nid: 7\ndata: {\"a\":\ndata:1}\n\n: heartbeat\n\nretry: 5000\ndata:\n\ndata\n\nevent: ping\ndata: x\n\ndata: {\"last\":1}", "\n", end)
		for size := 1; size < 9; size++ {
			events, err := split(t, src, size, 0)
			if err != nil {
				t.Fatal(err)
			}
			var data []string
			var raw strings.Builder
			for _, e := range events {
				raw.Write(e.Raw)
				if e.Data != nil {
					data = append(data, string(e.Data))
				}
			}
			want := []string{"{\"a\":\n1}", "", "", "x", `{"last":1}`}
			if !slices.Equal(data, want) {
				t.Errorf("line end %q, pieces of %d: data %q, want %q", end, size, data, want)
			}
			if raw.String() != src {
				t.Errorf("line end %q, pieces of %d: raw bytes changed to %q", end, size, raw.String())
			}
		}
	}
}

// Heartbeats keep connections alive; holding one back until the next event
// defeats it (caddy issue 6293, render-mcp 26).
func TestCommentsBetweenEventsAreNotHeldBack(t *testing.T) {
	var s Splitter
	var got []string
	if err := s.Write([]byte(": ok\n"), func(e Event) error { got = append(got, string(e.Raw)); return nil }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, []string{": ok\n"}) {
		t.Errorf("got %q", got)
	}
}

func TestRewrittenEventKeepsItsOtherLines(t *testing.T) {
	events, err := split(t, "id: 3\nevent: message\ndata: {\ndata: }\nretry: 9\n: note\n\n", 100, 0)
	if err != nil || len(events) != 1 {
		t.Fatalf("got %d events, %v", len(events), err)
	}
	if got := string(events[0].WithData([]byte("{\n\"a\":1}"))); got != "id: 3\nevent: message\nretry: 9\n: note\ndata: {\"a\":1}\n\n" {
		t.Errorf("got %q", got)
	}
	if got := string(events[0].WithoutData()); got != "id: 3\nevent: message\nretry: 9\n: note\n\n" {
		t.Errorf("without data: %q", got)
	}
}

func TestOneEventIsBounded(t *testing.T) {
	if _, err := split(t, "data: "+strings.Repeat("x", 100)+"\n\n", 7, 64); !errors.Is(err, ErrEventTooLarge) {
		t.Errorf("got %v, want ErrEventTooLarge", err)
	}
	if _, err := split(t, strings.Repeat("data: x\n\n", 100), 7, 64); err != nil {
		t.Errorf("many small events: %v", err)
	}
}

// FuzzSplitter proves that events do not depend on how bytes are chunked, that
// no byte is lost, and that re-emitted events read the same again.
func FuzzSplitter(f *testing.F) {
	f.Add("data: {}\n\n", uint8(3))
	f.Add("\ufeff:c\r\n\r\nid:1\rdata\rdata:x\r\r\n\n", uint8(1))
	f.Add("event: x\ndata: [1]\ndata:2\n\nda", uint8(2))
	f.Fuzz(func(t *testing.T, src string, size uint8) {
		whole, err := split(t, src, len(src), 0)
		if err != nil {
			t.Fatal(err)
		}
		pieces, err := split(t, src, int(size), 0)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(whole, pieces, func(a, b Event) bool {
			return bytes.Equal(a.Raw, b.Raw) && bytes.Equal(a.Data, b.Data) && (a.Data == nil) == (b.Data == nil)
		}) {
			t.Fatalf("whole %+v, in pieces of %d %+v", whole, size, pieces)
		}
		var raw []byte
		for _, e := range whole {
			raw = append(raw, e.Raw...)
			if !e.CouldBeMessage() {
				continue
			}
			again, err := split(t, string(e.WithData([]byte(`{"x":1}`))), 1000, 0)
			// Comments that move to the front are lines of their own then.
			again = slices.DeleteFunc(again, func(e Event) bool { return e.Data == nil })
			if err != nil || len(again) != 1 || string(again[0].Data) != `{"x":1}` {
				t.Fatalf("%q re-emitted reads as %+v, %v", e.Raw, again, err)
			}
		}
		if string(raw) != src {
			t.Fatalf("bytes changed from %q to %q", src, raw)
		}
	})
}
