package arguments

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// schema is a compiled schema; immutable.
type schema struct {
	root *node
	// marks says that some unevaluated… keyword needs to know what other
	// keywords have looked at.
	marks bool
}

// node is one schema object or boolean. Absent keywords are zero.
type node struct {
	pointer string
	never   bool // the schema false
	ref     *node

	types       []string
	constant    *string // canonical
	enum        map[string]bool
	enumNames   string
	minimum     *number
	maximum     *number
	above       *number // exclusiveMinimum
	below       *number // exclusiveMaximum
	multipleOf  *number
	minLength   *int
	maxLength   *int
	pattern     *pattern
	tuple       []*node // prefixItems, or items as an array
	rest        *node   // items, or additionalItems beside a tuple
	contains    *node
	minContains int
	maxContains *int
	minItems    *int
	maxItems    *int
	uniqueItems bool
	otherItems  *node // unevaluatedItems

	properties     map[string]*node
	patterns       []patternProperty
	additional     *node
	names          *node
	required       []string
	minProperties  *int
	maxProperties  *int
	dependRequired map[string][]string
	dependSchemas  map[string]*node
	otherMembers   *node // unevaluatedProperties

	allOf, anyOf, oneOf    []*node
	not, when, then, other *node // other is else
}

type patternProperty struct {
	pattern *pattern
	node    *node
}

// maxNodes bounds the subschemas of one schema.
const maxNodes = 10_000

// compile reads a schema. Errors are *UnsupportedError.
func compile(raw []byte) (*schema, error) {
	if len(raw) == 0 {
		return nil, &UnsupportedError{Reason: "there is none"}
	}
	if len(raw) > MaxSchema {
		return nil, &UnsupportedError{Reason: fmt.Sprintf("it is larger than %d bytes", MaxSchema)}
	}
	document, err := decode(raw)
	if err != nil {
		return nil, &UnsupportedError{Reason: "it " + err.Error()}
	}
	c := &compiler{document: document, nodes: make(map[string]*node), anchors: make(map[string]*node), schema: &schema{}}
	if object, ok := document.(map[string]any); ok {
		if err := c.readDialect(object); err != nil {
			return nil, err
		}
	}
	if c.schema.root, err = c.node("", document); err != nil {
		return nil, err
	}
	if err := c.resolveRefs(); err != nil {
		return nil, err
	}
	return c.schema, nil
}

// compiler turns a decoded document into nodes, one for each place.
type compiler struct {
	document any
	schema   *schema
	draft7   bool
	id       string // of the root, without fragment
	nodes    map[string]*node
	anchors  map[string]*node
	refs     []pendingRef
	programs int // instructions in all patterns
}

// pendingRef is a reference that waits until all anchors are known.
type pendingRef struct {
	from *node
	ref  string
}

func unsupported(pointer, format string, args ...any) error {
	return &UnsupportedError{Pointer: pointer, Reason: fmt.Sprintf(format, args...)}
}

func (c *compiler) readDialect(root map[string]any) error {
	dialect, _ := root["$schema"].(string)
	switch strings.TrimSuffix(dialect, "#") {
	case "", "https://json-schema.org/draft/2020-12/schema":
	case "http://json-schema.org/draft-07/schema", "https://json-schema.org/draft-07/schema":
		c.draft7 = true
	default:
		return unsupported("", "$schema %s is neither draft 2020-12 nor draft-07", quoted(dialect))
	}
	id, _ := root["$id"].(string)
	c.id, _, _ = strings.Cut(id, "#")
	return nil
}

// node returns the node of the schema at pointer, which is value.
func (c *compiler) node(pointer string, value any) (*node, error) {
	if n, ok := c.nodes[pointer]; ok {
		return n, nil
	}
	if len(c.nodes) >= maxNodes {
		return nil, unsupported(pointer, "more than %d subschemas", maxNodes)
	}
	n := &node{pointer: pointer, minContains: 1}
	c.nodes[pointer] = n
	switch v := value.(type) {
	case bool:
		n.never = !v
		return n, nil
	case map[string]any:
		return n, c.fill(n, v)
	default:
		return nil, unsupported(pointer, "a schema is an object or a boolean")
	}
}

// resolveRefs connects references, which may lead to places that no keyword
// leads to.
func (c *compiler) resolveRefs() error {
	for len(c.refs) > 0 {
		pending := c.refs[0]
		c.refs = c.refs[1:]
		target, err := c.resolve(pending.from.pointer, pending.ref)
		if err != nil {
			return err
		}
		pending.from.ref = target
	}
	return nil
}

// resolve finds what a reference inside the document refers to.
func (c *compiler) resolve(from, ref string) (*node, error) {
	base, fragment, _ := strings.Cut(ref, "#")
	if base != "" && base != c.id {
		return nil, unsupported(from, "$ref %s leads out of the schema", quoted(ref))
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, unsupported(from, "$ref %s is malformed", quoted(ref))
	}
	if fragment != "" && fragment[0] != '/' {
		if n, ok := c.anchors[fragment]; ok {
			return n, nil
		}
		return nil, unsupported(from, "$ref %s leads nowhere", quoted(ref))
	}
	value, err := dereference(c.document, fragment)
	if err != nil {
		return nil, unsupported(from, "$ref %s %v", quoted(ref), err)
	}
	return c.node(fragment, value)
}

// dereference follows a JSON Pointer (RFC 6901). It does not enter schemas with
// an $id of their own, where pointers begin anew; those are refused elsewhere.
func dereference(value any, pointer string) (any, error) {
	if pointer == "" {
		return value, nil
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch v := value.(type) {
		case map[string]any:
			member, ok := v[token]
			if !ok {
				return nil, errors.New("leads nowhere")
			}
			value = member
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) || strconv.Itoa(i) != token {
				return nil, errors.New("leads nowhere")
			}
			value = v[i]
		default:
			return nil, errors.New("leads nowhere")
		}
	}
	return value, nil
}
