package issuer

import (
	"context"
	"net/http"
	"slices"
	"strings"
)

// Fault is a way for a document to fail.
type Fault string

const (
	None        Fault = ""
	Down        Fault = "down"         // 503
	NotFound    Fault = "not found"    // 404
	Slow        Fault = "slow"         // no answer until the fault is lifted, then a good one
	Endless     Fault = "endless"      // 200 and a body that never ends
	BrokenJSON  Fault = "broken JSON"  // 200 and half a document
	EmptySet    Fault = "empty set"    // 200 and {"keys":[]}, for any document
	WrongIssuer Fault = "wrong issuer" // metadata or introspection of another issuer; nothing for the rest
	Throttled   Fault = "throttled"    // 429 and "Retry-After: 7"
	Moved       Fault = "moved"        // 307 to the same place
	Twice       Fault = "twice"        // 200 and every member of the document two times
)

// SetFault makes a document fail from the next request on, or with None no more.
// Requests that a Slow fault holds are let go by any change.
func (i *Issuer) SetFault(d Document, f Fault) {
	i.mu.Lock()
	defer i.mu.Unlock()

	if lifted, ok := i.lifted[d]; ok {
		close(lifted)
		delete(i.lifted, d)
	}
	if f == Slow {
		i.lifted[d] = make(chan struct{})
	}
	i.faults[d] = f
}

// fetch counts a request and returns the fault it meets. While that is Slow it
// waits, until the fault is lifted or the client has gone.
func (i *Issuer) fetch(ctx context.Context, d Document) Fault {
	i.mu.Lock()
	i.fetches[d]++
	i.mu.Unlock()

	for {
		i.mu.Lock()
		fault, lifted := i.faults[d], i.lifted[d]
		i.mu.Unlock()

		if fault != Slow {
			return fault
		}

		select {
		case <-lifted:
		case <-ctx.Done():
			return Down // nobody reads it
		}
	}
}

// spoil answers in place of the document and reports whether it did.
func (f Fault) spoil(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Set("Content-Type", "application/json")

	switch f {
	case Down:
		http.Error(w, "unavailable", http.StatusServiceUnavailable)
	case NotFound:
		http.NotFound(w, r)
	case Endless:
		endless(w)
	case BrokenJSON:
		_, _ = w.Write([]byte(`{"keys":[{"kty":"RSA",`))
	case EmptySet:
		_, _ = w.Write([]byte(`{"keys":[]}`))
	case Throttled:
		w.Header().Set("Retry-After", "7")
		http.Error(w, "too many requests", http.StatusTooManyRequests)
	case Moved:
		w.Header().Set("Location", "?again")
		w.WriteHeader(http.StatusTemporaryRedirect)
	default:
		return false
	}

	return true
}

// alter changes a document that is otherwise as it should be.
func (f Fault) alter(document []byte) []byte {
	if f != Twice {
		return document
	}

	return slices.Concat(document[:len(document)-1], []byte(","), document[1:])
}

// endless writes the beginning of a document and then white space, which no JSON
// parser complains of, until the client hangs up.
func endless(w http.ResponseWriter) {
	chunk := []byte(strings.Repeat(" ", 32<<10))
	if _, err := w.Write([]byte(`{"keys":[`)); err != nil {
		return
	}
	for {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}
