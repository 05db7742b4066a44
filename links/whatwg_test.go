package links

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"sync"
	"testing"
)

// browser is a WHATWG URL parser, the one in Node, asked line by line. It is the
// second opinion of the fuzz targets: net/url follows RFC 3986, browsers do not.
type browser struct {
	mu  sync.Mutex
	in  *json.Encoder
	out *bufio.Reader
}

// browserURL is what the parser makes of a URL, decoded where it says so.
type browserURL struct {
	Error    string
	Href     string
	Origin   string
	Username string
	Path     string // decoded
	Search   string // decoded
	Hash     string
	Param    string // the query parameter path, decoded
}

const browserScript = `
const read = s => {
	try {
		const u = new URL(s, s.startsWith("/") ? "` + dummyOrigin + `" : undefined);
		return {
			href: u.href, origin: u.origin, username: u.username + u.password,
			path: decodeURIComponent(u.pathname), search: decodeURIComponent(u.search),
			hash: u.hash, param: u.searchParams.get("path") ?? "",
		};
	} catch (e) {
		return {error: String(e)};
	}
};
require("readline").createInterface({input: process.stdin}).on("line", line => {
	process.stdout.write(JSON.stringify(JSON.parse(line).map(read)) + "\n");
});`

var startBrowser = sync.OnceValue(func() *browser {
	cmd := exec.Command("node", "-e", browserScript)

	in, err := cmd.StdinPipe()
	if err != nil {
		return nil
	}

	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil
	}

	// The process ends by itself when this one does and its input closes.
	if err := cmd.Start(); err != nil {
		return nil
	}

	return &browser{in: json.NewEncoder(in), out: bufio.NewReader(out)}
})

// browserFor starts the parser once per process, if Node is installed.
func browserFor(f *testing.F) *browser {
	f.Helper()

	b := startBrowser()
	if b == nil {
		f.Log("no node: comparing without a WHATWG parser")
	}

	return b
}

// parse reads several URLs in one exchange; those that begin with a slash are
// resolved against the dummy origin. Without Node it returns nil.
func (b *browser) parse(t *testing.T, urls ...string) []browserURL {
	t.Helper()

	if b == nil {
		return nil
	}

	b.mu.Lock()
	defer b.mu.Unlock()

	if err := b.in.Encode(urls); err != nil {
		t.Fatal(err)
	}

	line, err := b.out.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}

	var parsed []browserURL
	if err := json.Unmarshal(line, &parsed); err != nil {
		t.Fatal(err)
	}

	for i, u := range parsed {
		if u.Error != "" || u.Username != "" || u.Hash != "" {
			t.Fatalf("browser reads %q as %+v", urls[i], u)
		}
	}

	return parsed
}
