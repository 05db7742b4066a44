package interop

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator makes answers that hold lists, most of them nearly right.
type generator struct{ *rand.Rand }

// one says yes once in n times.
func (g generator) one(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g generator, from ...T) T { return from[g.IntN(len(from))] }

// answer is a message or several, framed, mutilated and cut into chunks.
func (g generator) answer() answer {
	a := answer{status: 200}
	if g.one(6) {
		a.status = pick(g, 201, 202, 203, 205, 206, 299, 301, 400, 404, 500, 502)
	}
	label, body := "application/json", ""
	if g.one(2) {
		label, body = "text/event-stream", g.events()
	} else {
		body = g.maybeMutated(g.message())
	}
	if g.one(8) {
		label = pick(g, "", "text/plain", "application/json", "application/json; charset=utf-8", "text/event-stream",
			"text/event-stream; charset=utf-8", "TEXT/Event-Stream", "text/event-stream, application/json", "application/json-seq")
	}
	if label != "" {
		a.header = append(a.header, [2]string{"Content-Type", label})
	}
	if g.one(40) {
		a.header = append(a.header, [2]string{"Content-Type", pick(g, "application/json", "text/event-stream")})
	}
	if g.one(20) {
		body = zipped(body)
		for g.one(2) {
			a.header = append(a.header, [2]string{"Content-Encoding", pick(g, "identity", "", "deflate")})
		}
		a.header = append(a.header, [2]string{"Content-Encoding", pick(g, "gzip", "GZIP", "identity, gzip", "gzip, identity")})
	}
	for len(body) > 0 {
		n := len(body)
		if g.one(2) {
			n = 1 + g.IntN(min(n, 60))
		}
		a.chunks = append(a.chunks, body[:n])
		body = body[n:]
	}
	return a
}

// message is a result with lists, or now and then something else.
func (g generator) message() string {
	if g.one(8) {
		return pick(g, note, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":9,"method":"ping"}`, `[]`, ``, `null`)
	}
	var result []string
	for range 1 + g.IntN(2) {
		result = append(result, g.list())
	}
	if g.one(5) {
		result = append(result, pick(g, `"nextCursor":"vault"`, `"_meta":{"a":[1,2]}`, `"ttlMs":5`, `"resultType":"complete"`, `"content":[]`, `"capabilities":{}`))
	}
	members := []string{`"jsonrpc":"2.0"`, `"id":1`, g.name("result") + ":" + g.object(result)}
	if g.one(12) {
		members = append(members, pick(g, `"error":{"code":1,"message":"m"}`, `"method":null`, `"method":"x"`, `"result":{"tools":[]}`, `"x":{"result":{}}`, `"ID":2`))
	}
	text := g.object(members)
	switch g.IntN(45) {
	case 0, 1, 2:
		return "[" + text + "]"
	case 3, 4, 5:
		return text + pick(g, "", "\n", " ") + pick(g, note, list, "x", "}")
	case 6, 7, 8:
		return pick(g, "\ufeff", " ", "\n\t", "\v", "\u00a0", ")]}'\n", "x") + text
	default:
		return text
	}
}

// list is a member of a result.
func (g generator) list() string {
	member := pick(g, "tools", "tools", "prompts", "resources", "resourceTemplates")
	naming := map[string]string{"resources": "uri", "resourceTemplates": "uriTemplate"}[member]
	names := []string{"note://open", "note://vault", "note://open/{page}", "note://vault/{page}"}
	if naming == "" {
		naming, names = "name", []string{"open_a", "open_b", "vault", "vault_b", "open_a ", "Open_a"}
	}
	var elements []string
	for range g.IntN(4) {
		fields := []string{g.name(naming) + ":" + g.text(pick(g, names...))}
		for g.one(2) {
			fields = append(fields, pick(g, `"inputSchema":{"type":"object"}`, `"title":"vault"`, `"description":""`, `"n":1.50`, `"z":[{}]`))
		}
		if g.one(12) {
			fields = append(fields, pick(g, `"Name":"vault"`, `"name":"open_b"`, `"name":null`, `"uri":"x:y"`, `"URI":"note://vault"`))
		}
		element := g.object(fields)
		if g.one(15) {
			element = pick(g, "["+element+"]", "null", `"vault"`, "{}", `{"name":1}`)
		}
		elements = append(elements, element)
	}
	return g.name(member) + ":[" + strings.Join(elements, g.space()+",") + "]"
}

// object puts members in any order.
func (g generator) object(members []string) string {
	g.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	if g.one(60) {
		members = append(members, members[0])
	}
	return "{" + g.space() + strings.Join(members, ","+g.space()) + g.space() + "}"
}

func (g generator) space() string {
	if g.one(6) {
		return pick(g, " ", "\n", "\r\n", "\t", "\r", "  ")
	}
	return ""
}

// name is a member's name, now and then in another case.
func (g generator) name(name string) string {
	if g.one(60) {
		name = strings.ToUpper(name[:1]) + name[1:]
	}
	return g.text(name)
}

// text is a string, some characters of it escaped.
func (g generator) text(text string) string {
	if !g.one(6) {
		return `"` + text + `"`
	}
	var b strings.Builder
	for _, c := range []byte(text) {
		if g.one(3) {
			fmt.Fprintf(&b, `\u%04x`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return `"` + b.String() + pick(g, "", "", `\ud800`, "\xff", "\u2028") + `"`
}

// events are one to four server-sent events with one of the line endings, or a
// mixture.
func (g generator) events() string {
	ending, mixed := pick(g, "\n", "\n", "\r\n", "\r"), g.one(6)
	var b strings.Builder
	if g.one(10) {
		b.WriteString(pick(g, "\ufeff", "\ufeff\ufeff", "\n", ":ok\n\n"))
	}
	for range 1 + g.IntN(4) {
		var lines []string
		for g.one(2) {
			lines = append(lines, pick(g, "event: message", "event:message", "id: 7", "id", "retry: 5", ": comment", ":", "x: y"))
		}
		if g.one(12) {
			lines = append(lines, pick(g, "event: other", "event", "data", "data:", "x", `{"a":1}`, "event: endpoint"))
		}
		at := g.IntN(len(lines) + 1)
		lines = append(lines[:at:at], append(g.data(), lines[at:]...)...)
		if !g.one(12) {
			lines = append(lines, "")
		}
		for _, line := range lines {
			if mixed {
				ending = pick(g, "\n", "\r\n", "\r", "\n\r", "\r\r\n")
			}
			b.WriteString(line + ending)
		}
	}
	return g.maybeMutated(b.String())
}

// data are the lines of one message.
func (g generator) data() (lines []string) {
	text := g.message()
	if g.one(5) && len(text) > 0 {
		at := g.IntN(len(text))
		text = text[:at] + "\n" + text[at:]
	}
	if g.one(20) {
		return []string{text}
	}
	field := "data: "
	if g.one(10) {
		field = pick(g, "data:", "data:  ", "data:\t", "data:\v", "data:\r", "data : ", " data: ", "Data: ", "\ufeffdata: ", "data", "datum: ")
	}
	for line := range strings.SplitSeq(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n") {
		lines = append(lines, field+line)
	}
	return lines
}

// maybeMutated breaks a third of all texts in up to three places.
func (g generator) maybeMutated(text string) string {
	if !g.one(3) {
		return text
	}
	for range 1 + g.IntN(3) {
		at := g.IntN(len(text) + 1)
		end := min(len(text), at+g.IntN(8))
		switch g.IntN(4) {
		case 0:
			text = text[:at] + pick(g, `"`, `{`, `}`, `[`, `]`, `,`, `:`, `\`, "\n", "\r", "\r\n", "\n\n", " ", "\v", "\x00", "\xff", "\ufeff", "data:", "event:x",
				`"tools":[`, `"result":{`, `"name":"vault"`) + text[at:]
		case 1:
			text = text[:at] + text[end:]
		case 2:
			text = text[:end] + text[at:]
		default:
			if text = text[:at]; g.one(2) {
				text += pick(g, "}", "]}}", "\n\n")
			}
		}
	}
	return text
}
