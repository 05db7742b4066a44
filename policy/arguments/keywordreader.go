package arguments

import (
	"strconv"
	"strings"
)

// keywordReader reads keywords until the first mistake. Methods return zero for
// keywords that are absent.
type keywordReader struct {
	c      *compiler
	n      *node
	object map[string]any
	err    error
}

func (r *keywordReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = unsupported(r.n.pointer, format, args...)
	}
}

func (r *keywordReader) schema(keyword string) *node {
	value, ok := r.object[keyword]
	if !ok {
		return nil
	}
	child, err := r.c.node(r.n.pointer+"/"+keyword, value)
	r.err = firstError(r.err, err)
	return child
}

func (r *keywordReader) schemas(keyword string) []*node {
	value, ok := r.object[keyword]
	if !ok {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		r.fail("%s is not an array", keyword)
	}
	nodes := make([]*node, 0, len(list))
	for i, element := range list {
		child, err := r.c.node(r.n.pointer+"/"+keyword+"/"+strconv.Itoa(i), element)
		r.err = firstError(r.err, err)
		nodes = append(nodes, child)
	}
	return nodes
}

func (r *keywordReader) schemaMap(keyword string) map[string]*node {
	members, ok := r.members(keyword)
	if !ok {
		return nil
	}
	nodes := make(map[string]*node, len(members))
	for name, value := range members {
		child, err := r.c.node(r.n.pointer+"/"+keyword+"/"+pointerToken(name), value)
		r.err = firstError(r.err, err)
		nodes[name] = child
	}
	return nodes
}

func (r *keywordReader) members(keyword string) (map[string]any, bool) {
	value, ok := r.object[keyword]
	if !ok {
		return nil, false
	}
	members, ok := value.(map[string]any)
	if !ok {
		r.fail("%s is not an object", keyword)
	}
	return members, ok
}

func (r *keywordReader) number(keyword string) *number {
	value, ok := r.object[keyword]
	if !ok {
		return nil
	}
	n, ok := value.(number)
	if !ok {
		r.fail("%s is not a number", keyword)
		return nil
	}
	return &n
}

// count reads a whole number from zero on. Larger ones than an int holds cannot
// be reached, and stand for the largest.
func (r *keywordReader) count(keyword string) *int {
	n := r.number(keyword)
	if n == nil {
		return nil
	}
	if !n.isInteger() || n.cmp(number{}) < 0 {
		r.fail("%s is not a whole number from zero on", keyword)
		return nil
	}
	count := int(min(n.small, 1<<40))
	if n.literal != "" {
		count = 1 << 40
		if whole := n.rat().Num(); whole.IsInt64() {
			count = int(min(whole.Int64(), 1<<40))
		}
	}
	return &count
}

func (r *keywordReader) text(keyword string) string {
	value, ok := r.object[keyword]
	if !ok {
		return ""
	}
	text, ok := value.(string)
	if !ok {
		r.fail("%s is not a string", keyword)
	}
	return text
}

func (r *keywordReader) texts(keyword string) []string {
	value, ok := r.object[keyword]
	if !ok {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		r.fail("%s is not an array", keyword)
	}
	texts := make([]string, 0, len(list))
	for _, element := range list {
		text, ok := element.(string)
		if !ok {
			r.fail("%s holds something else than strings", keyword)
		}
		texts = append(texts, text)
	}
	return texts
}

func (r *keywordReader) flag(keyword string) bool {
	value, ok := r.object[keyword]
	if !ok {
		return false
	}
	flag, ok := value.(bool)
	if !ok {
		r.fail("%s is not a boolean", keyword)
	}
	return flag
}

func (r *keywordReader) pattern(text string) *pattern {
	p, err := compilePattern(text)
	if err != nil {
		r.fail("%v", err)
		return nil
	}
	if r.c.programs += p.size; r.c.programs > maxPrograms {
		r.fail("the patterns are too large together")
	}
	return p
}

func isArray(value any) bool {
	_, ok := value.([]any)
	return ok
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func pointerToken(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
