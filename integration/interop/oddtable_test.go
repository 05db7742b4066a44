package interop

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
)

const (
	// list is an answer with something to hide.
	list = `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"open_a","inputSchema":{"type":"object"}},{"name":"vault","inputSchema":{"type":"object"}}]}}`
	note = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"working"}}`
)

func jsonOf(body string) answer { return labelled("application/json", body) }

func eventsOf(chunks ...string) answer { return labelled("text/event-stream", chunks...) }

func labelled(contentType string, chunks ...string) answer {
	return answer{200, [][2]string{{"Content-Type", contentType}}, chunks}
}

func (a answer) with(status int, header ...[2]string) answer {
	a.status = status
	a.header = append(a.header, header...)
	return a
}

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

// oddities are the answers of servers that were met or can be thought of.
// toolhive 5257: one undecodable or unexpected line let a whole list through.
var oddities = map[string]answer{
	"JSON": jsonOf(list), "events": eventsOf("data: " + list + "\n\n"),

	"no label":               {200, nil, []string{list}},
	"labelled text/plain":    labelled("text/plain; charset=utf-8", list),
	"labelled text/html":     labelled("text/html", list),
	"labelled with charset":  labelled("application/json; charset=utf-8", list),
	"labelled another JSON":  labelled("application/vnd.x+json", list),
	"JSON labelled events":   eventsOf(list),
	"JSON lines as events":   eventsOf(note+"\n", list+"\n"),
	"indented as events":     eventsOf(strings.ReplaceAll(list, "{", "{\n")),
	"events labelled JSON":   jsonOf("data: " + list + "\n\n"),
	"events without a label": {200, nil, []string{"data: " + list + "\n\n"}},
	"two labels":             {200, [][2]string{{"Content-Type", "text/event-stream"}, {"Content-Type", "application/json"}}, []string{list}},
	"two labels, reversed":   {200, [][2]string{{"Content-Type", "application/json"}, {"Content-Type", "text/event-stream"}}, []string{"data: " + list + "\n\n"}},
	"labels in one line":     labelled("text/event-stream, application/json", list),
	"a broken label":         labelled("text/event-stream;;=", "data: "+list+"\n\n"),

	"201": jsonOf(list).with(201), "202": jsonOf(list).with(202), "203": jsonOf(list).with(203), "205": jsonOf(list).with(205),
	"206": jsonOf(list).with(206), "299": jsonOf(list).with(299), "400": jsonOf(list).with(400), "500": jsonOf(list).with(500),
	"302": jsonOf(list).with(302, [2]string{"Location", "/mcp"}), "events with 205": eventsOf("data: " + list + "\n\n").with(205),
	"events with 404": eventsOf("data: " + list + "\n\n").with(404),

	"compressed":             jsonOf(zipped(list)).with(200, [2]string{"Content-Encoding", "gzip"}),
	"compressed events":      eventsOf(zipped("data: "+list+"\n\n")).with(200, [2]string{"Content-Encoding", "GZIP"}),
	"compressed, said twice": eventsOf(zipped("data: "+list+"\n\n")).with(200, [2]string{"Content-Encoding", "identity"}, [2]string{"Content-Encoding", "gzip"}),
	"compressed, half said":  eventsOf(zipped("data: "+list+"\n\n")).with(200, [2]string{"Content-Encoding", ""}, [2]string{"Content-Encoding", "gzip"}),

	"byte order mark":        jsonOf("\ufeff" + list),
	"space before":           jsonOf(" \r\n\t" + list),
	"another space before":   jsonOf("\v\u00a0" + list),
	"a prefix before":        jsonOf(")]}',\n" + list),
	"a value before":         jsonOf(note + "\n" + list),
	"garbage behind":         jsonOf(list + "\n<!-- served by x -->"),
	"batch":                  jsonOf("[" + note + "," + list + "]"),
	"repeated member":        jsonOf(`{"jsonrpc":"2.0","id":1,"result":{"tools":[]},"result":{"tools":[{"name":"vault"}]}}`),
	"repeated list":          jsonOf(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"vault"}],"tools":[]}}`),
	"repeated name":          jsonOf(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"open_a","name":"vault"}]}}`),
	"another case":           jsonOf(`{"jsonrpc":"2.0","id":1,"Result":{"tools":[{"name":"vault"}]}}`),
	"another case of a list": jsonOf(`{"jsonrpc":"2.0","id":1,"result":{"Tools":[{"name":"vault"}]}}`),
	"another case of a name": jsonOf(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"open_a","Name":"vault"}]}}`),
	"escaped names":          jsonOf(`{"jsonrpc":"2.0","id":1,"r\u0065sult":{"t\u006fols":[{"n\u0061me":"v\u0061ult"}]}}`),
	"broken UTF-8":           jsonOf(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"vault` + "\xff" + `"},{"name":"open_a"}]}}`),
	"half a surrogate":       jsonOf(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"vault\ud800"}]}}`),
	"every kind of list": jsonOf(`{"jsonrpc":"2.0","id":1,"result":{"prompts":[{"name":"vault"}],"tools":[{"name":"vault"}],` +
		`"resources":[{"uri":"note://vault"}],"resourceTemplates":[{"uriTemplate":"note://vault/{page}"}]}}`),
	"a list and an error": jsonOf(`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"},"result":{"tools":[{"name":"vault"}]}}`),
	"a list and a method": jsonOf(`{"jsonrpc":"2.0","id":1,"method":null,"result":{"tools":[{"name":"vault"}]}}`),
	"a list without end":  jsonOf(list[:len(list)-2]),

	"a notification first":    eventsOf("data: " + note + "\n\n" + "data: " + list + "\n\n"),
	"an undecodable first":    eventsOf("data: <html>\n\n" + "data: " + list + "\n\n"),
	"a comment first":         eventsOf(": ping\n\n" + "data: " + list + "\n\n"),
	"two messages in one":     eventsOf("data: " + note + "\ndata: " + list + "\n\n"),
	"split lines":             eventsOf("data: " + list[:40] + "\ndata: " + list[40:] + "\n\n"),
	"split lines at a token":  eventsOf("data: " + strings.Replace(list, ",", ",\ndata: ", 1) + "\n\n"),
	"CR":                      eventsOf("event: message\rdata: " + list + "\r\r"),
	"CRLF":                    eventsOf("event: message\r\ndata: " + list + "\r\n\r\n"),
	"mark and CR":             eventsOf("\ufeffdata: " + list + "\r\r"),
	"no space":                eventsOf("data:" + list + "\n\n"),
	"many spaces":             eventsOf("data: \t " + list + "\n\n"),
	"no end":                  eventsOf("data: " + list),
	"one line end":            eventsOf("data: " + list + "\n"),
	"another event type":      eventsOf("event: tools\ndata: " + list + "\n\n"),
	"another type, by line":   eventsOf("event: other\ndata: )]}'\ndata: " + list + "\n\n"),
	"type behind":             eventsOf("data: " + list + "\nevent: tools\n\n"),
	"in pieces":               eventsOf(strings.Split("id: 7\ndata: "+list+"\n\n", "")...),
	"CR in a data line":       eventsOf("data: \r" + list + "\n\n"),
	"CR behind the colon":     eventsOf("data:\r" + list + "\n\n"),
	"CR before a type":        eventsOf(":\revent: x\ndata: \v" + list + "\n\n"),
	"CR between two":          eventsOf("data:\r\r", list+"\n\n"),
	"blank before the field":  eventsOf(" data: " + list + "\n\n"),
	"blank behind the field":  eventsOf("data : " + list + "\n\n"),
	"the field in upper case": eventsOf("DATA: " + list + "\n\n"),
	"marks before the field":  eventsOf("\ufeff\ufeffdata: " + list + "\n\n"),
}

// TestServerAnswersOddly proves that no oddity of a server makes a hidden name
// readable, to any client, in either era and on the stream of a session.
func TestServerAnswersOddly(t *testing.T) {
	o := startOdd(t)
	var asked []answer
	var got []recording
	for name, a := range oddities {
		t.Run(name, func(t *testing.T) {
			for _, request := range requests {
				recorded := o.get(t, a, request)
				judge(t, a, request, recorded)
				asked, got = append(asked, a), append(got, recorded)
			}
		})
	}
	judgeInJS(t, asked, got)
	for _, plain := range []string{"JSON", "events"} {
		for _, request := range requests {
			if judge(t, oddities[plain], request, o.get(t, oddities[plain], request)) == 0 {
				t.Errorf("%s after %s shows nothing, not even open_a", plain, request)
			}
		}
	}
}
