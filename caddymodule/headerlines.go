package caddymodule

import "net/http"

// headerLines holds the values of headers that we set ourselves. A header map
// wants a list for each name; these lists are cut from one piece of memory that
// belongs to the exchange alone, so that nobody who changes one changes another,
// or that of another request. The zero value is ready.
type headerLines struct {
	values [10]string
	used   int
}

// set is http.Header.Set for a canonical name.
func (l *headerLines) set(h http.Header, name, value string) {
	if l.used == len(l.values) {
		h[name] = []string{value}
		return
	}
	line := l.values[l.used : l.used+1 : l.used+1]
	l.used++
	line[0] = value
	h[name] = line
}

// headerSnapshot is a header map as it was, in one piece of memory. Most of
// them are never asked for.
type headerSnapshot []headerValue

type headerValue struct {
	name, value string
	none        bool // a name without values, which means something to net/http
}

func snapshotOf(h http.Header) headerSnapshot {
	if len(h) == 0 {
		return nil
	}
	size := 0
	for _, values := range h {
		size += max(1, len(values))
	}
	s := make(headerSnapshot, 0, size)
	for name, values := range h {
		if len(values) == 0 {
			s = append(s, headerValue{name: name, none: true})
		}
		for _, value := range values {
			s = append(s, headerValue{name: name, value: value})
		}
	}
	return s
}

// into puts the headers back into an empty map.
func (s headerSnapshot) into(h http.Header) {
	for _, v := range s {
		if v.none {
			h[v.name] = nil
			continue
		}
		h[v.name] = append(h[v.name], v.value)
	}
}
