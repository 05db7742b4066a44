package mcp

import (
	"bytes"
	"errors"
	"unicode"
)

// ErrEventTooLarge is returned by a [Splitter] when one event exceeds its limit.
var ErrEventTooLarge = errors.New("server-sent event too large")

// Event is one block of an event stream (WHATWG HTML, "Server-sent events").
type Event struct {
	// Raw is the block as it came, with its blank line. Lines that belong to no
	// event (comments between events, surplus blank lines) come as an Event of
	// their own without data.
	Raw []byte
	// Data is the joined content of the data lines, nil if there were none.
	Data []byte
	// rest holds the lines other than data, each ended with a newline.
	rest []byte
	kind string // the event type, "" by default
	// strange says that not every reader finds the same lines in Raw.
	strange bool
	stray   bool // JSON outside of data
}

// Type is the event type, empty for the default one.
func (e Event) Type() string { return e.kind }

// WithData returns the block with its data replaced by one line: id, event,
// retry and comments stay. data must not contain line breaks; JSON-RPC messages
// re-emitted by this package never do.
func (e Event) WithData(data []byte) []byte {
	out := make([]byte, 0, len(e.rest)+len(data)+len("data: \n\n"))
	out = append(out, e.rest...)
	out = append(out, "data: "...)
	for _, c := range data {
		// Raw line breaks may stand between JSON tokens; inside strings they
		// are escaped, so that dropping them never changes the value.
		if c != '\n' && c != '\r' {
			out = append(out, c)
		}
	}
	return append(out, "\n\n"...)
}

// isBlank is what some reader cuts off a line.
func isBlank(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }

// Stray reports whether JSON stands where only lines of an event may stand:
// clients that ignore what an answer is labelled would read it.
func (e Event) Stray() bool { return e.stray }

// Wire returns the block for a client: Raw, or, where readers do not agree on
// its lines (a bare CR ends a line to some only, some cut blanks off the names of
// fields), the lines that all of them find.
func (e Event) Wire() []byte {
	if !e.strange {
		return e.Raw
	}
	out := bytes.Clone(e.rest)
	if e.Data != nil {
		for line := range bytes.SplitSeq(e.Data, []byte("\n")) {
			out = append(append(append(out, "data: "...), line...), '\n')
		}
	}
	return append(out, '\n')
}

// WithoutData returns the lines of the block other than data, so that a dropped
// message still moves the id from which a client resumes; nil if there are none.
func (e Event) WithoutData() []byte {
	if len(e.rest) == 0 {
		return nil
	}
	return append(bytes.Clone(e.rest), '\n')
}

// CouldBeMessage reports whether some client might take the data for a JSON-RPC
// message. Events without data (the priming events of resumable streams) are
// none; neither is text under an event type of its own.
func (e Event) CouldBeMessage() bool {
	// Naive readers take every line for itself.
	for line := range bytes.SplitSeq(e.Data, []byte("\n")) {
		if line = bytes.TrimLeftFunc(line, isBlank); len(line) > 0 && (line[0] == '{' || line[0] == '[') {
			return true
		}
	}
	return len(e.Data) > 0 && (e.kind == "" || e.kind == "message")
}

// Splitter cuts an event stream into events, however the bytes are chunked. It
// understands LF, CR and CRLF, a byte order mark, comments and several data
// lines. The zero value has no limit; it must not be copied after first use.
type Splitter struct {
	// Limit bounds one event in bytes; 0 means no bound.
	Limit int

	block   []byte // the event so far
	line    int    // where the current line starts in block
	data    []byte
	hasData bool
	rest    []byte
	kind    string
	fields  bool // the block holds a field, not only comments
	skipLF  bool // the last byte was a CR that ended a line
	started bool
	strange bool
	stray   bool
}

var byteOrderMark = []byte("\ufeff")

// Write feeds the next bytes of the stream and calls emit for each event that
// is complete by them. Slices in an Event are valid during the call only.
func (s *Splitter) Write(p []byte, emit func(Event) error) error {
	for len(p) > 0 {
		if s.skipLF {
			s.skipLF = false
			if p[0] == '\n' {
				p = p[1:]
				if len(s.block) == 0 { // the CR had already ended the event
					if err := emit(Event{Raw: []byte("\n")}); err != nil {
						return err
					}
				} else {
					s.block = append(s.block, '\n')
					s.line = len(s.block)
				}
				continue
			}
		}
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			end = len(p)
		}
		if cr := bytes.IndexByte(p[:end], '\r'); cr >= 0 {
			end = cr
		}
		if s.Limit > 0 && len(s.block)+end > s.Limit {
			return ErrEventTooLarge
		}
		s.block = append(s.block, p[:end]...)
		if end == len(p) {
			return nil
		}
		line := s.block[s.line:]
		s.skipLF = p[end] == '\r'
		s.strange = s.strange || s.skipLF
		s.block = append(s.block, p[end])
		s.line = len(s.block)
		p = p[end+1:]
		if err := s.endLine(line, emit); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the stream. An event without its blank line is emitted as well:
// the standard drops it, lenient readers do not, and what one of them might
// read has to be looked at.
func (s *Splitter) Close(emit func(Event) error) error {
	if len(s.block) == 0 {
		return nil
	}
	if s.line < len(s.block) {
		s.addLine(s.block[s.line:])
	}
	return s.emit(emit)
}

func (s *Splitter) endLine(line []byte, emit func(Event) error) error {
	if !s.started {
		s.started = true
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	if len(line) == 0 {
		return s.emit(emit)
	}
	s.addLine(line)
	if !s.fields { // a comment between events: a heartbeat, on its way at once
		return s.emit(emit)
	}
	return nil
}

func (s *Splitter) addLine(line []byte) {
	if !s.started {
		s.started = true
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	if len(name) > 0 {
		s.fields = true
	}
	if string(name) == "event" {
		s.kind = string(bytes.TrimPrefix(value, []byte(" ")))
	}
	switch string(name) {
	case "", "data", "event", "id", "retry":
	default:
		// No client needs it, but some might take it for one of the above.
		text := bytes.TrimLeftFunc(line, isBlank)
		s.strange, s.stray = true, s.stray || len(text) > 0 && (text[0] == '{' || text[0] == '[')
		return
	}
	if string(name) != "data" {
		s.rest = append(append(s.rest, line...), '\n')
		return
	}
	if s.hasData {
		s.data = append(s.data, '\n')
	}
	s.data = append(s.data, bytes.TrimPrefix(value, []byte(" "))...)
	s.hasData = true
}

func (s *Splitter) emit(emit func(Event) error) error {
	e := Event{Raw: s.block, rest: s.rest, kind: s.kind, strange: s.strange, stray: s.stray}
	if s.hasData {
		e.Data = s.data
		if e.Data == nil {
			e.Data = []byte{}
		}
	}
	s.block, s.rest, s.data = s.block[:0], s.rest[:0], s.data[:0]
	s.line, s.hasData, s.fields, s.kind, s.strange, s.stray = 0, false, false, "", false, false
	return emit(e)
}
