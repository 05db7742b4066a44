package arguments

import (
	"container/list"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
)

const (
	// MaxSchema bounds a schema, in bytes.
	MaxSchema = 256 << 10
	// maxDepth bounds the nesting of schemas and arguments.
	maxDepth = 64
	// Compiled schemas that are kept: this many, of this size together.
	maxCached      = 512
	maxCachedBytes = 8 << 20
)

// Checker checks arguments and remembers compiled schemas. The zero value is
// ready; it is safe for concurrent use.
type Checker struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]*list.Element
	order list.List // of *cached, last used first
	bytes int
}

type cached struct {
	key    [sha256.Size]byte
	size   int
	schema *schema
	err    error
}

// Check returns nil if arguments, a JSON object, fit schema. Absent arguments
// count as an empty object. Errors are *[InvalidError] if the arguments are to blame
// and *[UnsupportedError] if the schema is.
func (c *Checker) Check(schema, arguments []byte) error {
	compiled, err := c.compile(schema)
	if err != nil {
		return err
	}
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	value, err := decode(arguments)
	if err != nil {
		return &InvalidError{Problems: []Problem{{Text: err.Error()}}}
	}
	if _, ok := value.(map[string]any); !ok {
		return &InvalidError{Problems: []Problem{{Text: "must be an object"}}}
	}
	return compiled.check(value, len(arguments))
}

func (c *Checker) compile(raw []byte) (*schema, error) {
	key := sha256.Sum256(raw)
	c.mu.Lock()
	if element, ok := c.known[key]; ok {
		c.order.MoveToFront(element)
		found := element.Value.(*cached)
		c.mu.Unlock()
		return found.schema, found.err
	}
	c.mu.Unlock()
	entry := &cached{key: key, size: len(raw)}
	if entry.schema, entry.err = compile(raw); entry.err != nil {
		entry.size = 0 // only the error stays
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.storeLocked(entry)
	return entry.schema, entry.err
}

func (c *Checker) storeLocked(entry *cached) {
	if _, ok := c.known[entry.key]; ok {
		return
	}
	if c.known == nil {
		c.known = make(map[[sha256.Size]byte]*list.Element)
	}
	c.known[entry.key] = c.order.PushFront(entry)
	c.bytes += entry.size
	for c.order.Len() > maxCached || c.bytes > maxCachedBytes {
		oldest := c.order.Remove(c.order.Back()).(*cached)
		delete(c.known, oldest.key)
		c.bytes -= oldest.size
	}
}

// The words of Config.
const (
	Result = "result"
	Error  = "error"
	Refuse = "refuse"
	Pass   = "pass"
)

// Config turns on the check of arguments against the schema that the server
// advertises to the caller.
type Config struct {
	// OnInvalid is how a call with wrong arguments is answered: "result" (the
	// default: a tool result with isError, which the model reads and can correct)
	// or "error" (JSON-RPC error -32602).
	OnInvalid string `json:"on_invalid,omitempty"`
	// OnUnsupported is what happens to calls of a tool whose schema cannot be
	// checked: "refuse" (the default) or "pass" (they go to the server
	// unchecked).
	OnUnsupported string `json:"on_unsupported,omitempty"`
}

// Check refuses words that do not exist.
func (c Config) Check() error {
	if c.OnInvalid != "" && c.OnInvalid != Result && c.OnInvalid != Error {
		return fmt.Errorf("on_invalid %q: write result or error", c.OnInvalid)
	}
	if c.OnUnsupported != "" && c.OnUnsupported != Refuse && c.OnUnsupported != Pass {
		return fmt.Errorf("on_unsupported %q: write refuse or pass", c.OnUnsupported)
	}
	return nil
}

// Passes reports whether a call whose check gave err may go to the server.
func (c Config) Passes(err error) bool {
	_, unsupported := errors.AsType[*UnsupportedError](err)
	return err == nil || unsupported && c.OnUnsupported == Pass
}
