package caddymodule

import (
	"bytes"
	"slices"
	"sync"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// listMemoBytes bounds what a listMemo keeps, originals and rewritten lists
// together.
const listMemoBytes = 32 << 20

// listMemo remembers what became of lists of tools: most servers send the same
// list again and again, and rewriting a long one costs more than all else.
//
// It is no authorization. A list is found only under everything that decided
// how it was rewritten, and only if the server's answer is the same to the byte
// but for the id of the request. Nothing is compared by its hash.
type listMemo struct {
	mu    sync.Mutex
	bytes int
	lists map[listKey]*rewrittenList
}

// listKey is what a rewritten list depends on besides its own bytes and the
// configuration, whose memo this is.
type listKey struct {
	view     string // policy.View.Key
	era      mcp.Era
	mentions openai.MentionsState
	length   int // of the message without its id: tells lists of one caller apart
}

// rewrittenList is a message and what the caller got of it, with the place of
// the id in both.
type rewrittenList struct {
	original, rewritten      []byte
	idInOriginal, idInAnswer int
	idLength                 int
}

// get returns what became of this message before.
func (m *listMemo) get(key listKey, message []byte, id rawjson.Value) ([]byte, bool) {
	m.mu.Lock()
	known := m.lists[key]
	m.mu.Unlock()
	if known == nil {
		return nil, false
	}
	at, behind := known.idInOriginal, known.idInOriginal+known.idLength
	head, rest := known.original[:at], known.original[behind:]
	if len(message) != len(head)+len(id)+len(rest) || !bytes.Equal(message[:at], head) ||
		!bytes.Equal(message[at:at+len(id)], id) || !bytes.Equal(message[at+len(id):], rest) {
		return nil, false
	}
	at = known.idInAnswer
	return slices.Concat(known.rewritten[:at], id, known.rewritten[at+known.idLength:]), true
}

// put remembers a message, whose bytes must not change any more. Lists with a
// cursor are left out: cursors are sealed anew each time, and an empty page is
// followed by others.
func (m *listMemo) put(key listKey, message, rewritten []byte, id rawjson.Value) {
	if bytes.Contains(message, []byte(`"nextCursor"`)) {
		return
	}
	known := &rewrittenList{original: message, rewritten: rewritten, idLength: len(id)}
	var same bool
	if known.idInOriginal, same = idPlace(message, id); !same {
		return
	}
	if known.idInAnswer, same = idPlace(rewritten, id); !same {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropLocked(key)
	if known.size() > listMemoBytes/4 {
		return
	}
	for other := range m.lists { // in no order: what is dropped is only slower
		if m.bytes+known.size() <= listMemoBytes {
			break
		}
		m.dropLocked(other)
	}
	if m.lists == nil {
		m.lists = make(map[listKey]*rewrittenList)
	}
	m.lists[key] = known
	m.bytes += known.size()
}

func (m *listMemo) dropLocked(key listKey) {
	if known := m.lists[key]; known != nil {
		m.bytes -= known.size()
		delete(m.lists, key)
	}
}

func (l *rewrittenList) size() int { return len(l.original) + len(l.rewritten) }

// idPlace finds the id in a message, and reports false unless it is this one.
func idPlace(message []byte, id rawjson.Value) (int, bool) {
	start, end, found := rawjson.Value(message).Span("id")
	return start, found && bytes.Equal(message[start:end], id)
}

// listKey says under what the answer to this request may be remembered, and
// false where it depends on more than a key can hold.
func (w *responseWriter) listKey(message []byte) (listKey, bool) {
	e := w.e
	if e.message == nil || e.message.Method != "tools/list" || e.decoy != nil {
		return listKey{}, false
	}
	if e.message.Params.Get("cursor").Exists() && e.overlay.ComparesTools() {
		return listKey{}, false // depends on the pages before it
	}
	view, ok := e.view.Key()
	if !ok {
		return listKey{}, false
	}
	return listKey{view, e.era(), w.decorator.mentionsState(), len(message) - len(e.message.ID)}, true
}
