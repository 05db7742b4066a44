package arguments

import (
	"maps"
	"slices"
	"strings"
)

// fill reads the keywords of a schema object into n. Unknown keywords are
// annotations (2020-12 core, §6.5).
func (c *compiler) fill(n *node, object map[string]any) error {
	if ref, ok := object["$ref"]; ok {
		text, ok := ref.(string)
		if !ok {
			return unsupported(n.pointer, "$ref is not a string")
		}
		c.refs = append(c.refs, pendingRef{n, text})
		if c.draft7 {
			return nil // draft-07 §8.3: members beside $ref are ignored
		}
	}
	r := &keywordReader{c: c, n: n, object: object}
	r.identifiers()
	r.general()
	r.numbers()
	r.strings()
	r.arrays()
	r.objects()
	r.combined()
	// Referenced from elsewhere; read for their anchors.
	r.schemaMap("$defs")
	r.schemaMap("definitions")
	return r.err
}

func (r *keywordReader) identifiers() {
	for _, keyword := range []string{"$dynamicRef", "$recursiveRef", "$vocabulary"} {
		if _, ok := r.object[keyword]; ok {
			r.fail("%s is not supported", keyword)
		}
	}
	if r.n.pointer != "" {
		if _, ok := r.object["$schema"]; ok {
			r.fail("a $schema inside the schema is not supported")
		}
		id, isText := r.object["$id"].(string)
		switch anchor, isAnchor := strings.CutPrefix(id, "#"); {
		case isText && isAnchor && r.c.draft7:
			r.anchor(anchor)
		case isText:
			r.fail("an $id inside the schema is not supported")
		}
	}
	if r.c.draft7 {
		return
	}
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		if name := r.text(keyword); name != "" {
			r.anchor(name)
		}
	}
}

func (r *keywordReader) anchor(name string) {
	if other, ok := r.c.anchors[name]; ok && other != r.n {
		r.fail("anchor %s is there twice", quoted(name))
	}
	r.c.anchors[name] = r.n
}

var typeNames = []string{"null", "boolean", "object", "array", "number", "string", "integer"}

func (r *keywordReader) general() {
	switch types := r.object["type"].(type) {
	case nil:
		if _, ok := r.object["type"]; ok {
			r.fail("type is null; write \"null\" for the type of that name")
		}
	case string:
		r.n.types = []string{types}
	case []any:
		r.n.types = r.texts("type")
	default:
		r.fail("type is neither a string nor an array")
	}
	for _, name := range r.n.types {
		if !slices.Contains(typeNames, name) {
			r.fail("unknown type %s", quoted(name))
		}
	}
	if value, ok := r.object["const"]; ok {
		text := canonical(value)
		r.n.constant = &text
	}
	if value, ok := r.object["enum"]; ok {
		values, ok := value.([]any)
		if !ok {
			r.fail("enum is not an array")
		}
		r.n.enum = make(map[string]bool, len(values))
		var names []string
		for _, value := range values {
			r.n.enum[canonical(value)] = true
			if name, ok := value.(string); ok && len(names) < 10 {
				names = append(names, quoted(name))
			}
		}
		if len(names) > 0 && len(names) == len(values) {
			r.n.enumNames = strings.Join(names, ", ")
		}
	}
}

func (r *keywordReader) numbers() {
	r.n.minimum, r.n.maximum = r.number("minimum"), r.number("maximum")
	r.n.above, r.n.below = r.number("exclusiveMinimum"), r.number("exclusiveMaximum")
	if r.n.multipleOf = r.number("multipleOf"); r.n.multipleOf != nil && r.n.multipleOf.cmp(number{}) <= 0 {
		r.fail("multipleOf is not above zero")
	}
}

func (r *keywordReader) strings() {
	r.n.minLength, r.n.maxLength = r.count("minLength"), r.count("maxLength")
	if _, ok := r.object["pattern"]; ok {
		r.n.pattern = r.pattern(r.text("pattern"))
	}
}

func (r *keywordReader) arrays() {
	items := r.object["items"]
	switch {
	case isArray(items): // a tuple in draft-07, and an error in 2020-12
		r.n.tuple = r.schemas("items")
		r.n.rest = r.schema("additionalItems")
	case r.c.draft7:
		r.n.rest = r.schema("items")
	default:
		r.n.tuple, r.n.rest = r.schemas("prefixItems"), r.schema("items")
	}
	r.n.minItems, r.n.maxItems = r.count("minItems"), r.count("maxItems")
	r.n.uniqueItems = r.flag("uniqueItems")
	r.n.contains = r.schema("contains")
	if r.c.draft7 {
		return
	}
	if least := r.count("minContains"); least != nil {
		r.n.minContains = *least
	}
	r.n.maxContains = r.count("maxContains")
	r.n.otherItems = r.schema("unevaluatedItems")
	r.c.schema.marks = r.c.schema.marks || r.n.otherItems != nil
}

func (r *keywordReader) objects() {
	n := r.n
	n.properties = r.schemaMap("properties")
	patterns := r.schemaMap("patternProperties")
	for _, text := range slices.Sorted(maps.Keys(patterns)) {
		n.patterns = append(n.patterns, patternProperty{r.pattern(text), patterns[text]})
	}
	n.additional = r.schema("additionalProperties")
	n.names = r.schema("propertyNames")
	n.required = r.texts("required")
	n.minProperties, n.maxProperties = r.count("minProperties"), r.count("maxProperties")
	n.dependRequired = make(map[string][]string)
	n.dependSchemas = make(map[string]*node)
	r.dependencies("dependencies") // draft-07; 2020-12 split it, and servers still send it
	if r.c.draft7 {
		return
	}
	r.dependencies("dependentRequired")
	maps.Copy(n.dependSchemas, r.schemaMap("dependentSchemas"))
	n.otherMembers = r.schema("unevaluatedProperties")
	r.c.schema.marks = r.c.schema.marks || n.otherMembers != nil
}

func (r *keywordReader) dependencies(keyword string) {
	members, _ := r.members(keyword)
	for name := range members {
		if isArray(members[name]) {
			inner := &keywordReader{c: r.c, n: r.n, object: members}
			r.n.dependRequired[name] = inner.texts(name)
			r.err = firstError(r.err, inner.err)
			continue
		}
		child, err := r.c.node(r.n.pointer+"/"+keyword+"/"+pointerToken(name), members[name])
		r.err = firstError(r.err, err)
		r.n.dependSchemas[name] = child
	}
}

func (r *keywordReader) combined() {
	n := r.n
	n.allOf, n.anyOf, n.oneOf = r.schemas("allOf"), r.schemas("anyOf"), r.schemas("oneOf")
	n.not, n.when = r.schema("not"), r.schema("if")
	n.then, n.other = r.schema("then"), r.schema("else")
}
