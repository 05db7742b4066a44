package results

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/links"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

const depth = 64

func parse(t testing.TB, text string) rawjson.Value {
	t.Helper()

	v, err := rawjson.ParseLenient([]byte(text), depth)
	if err != nil {
		t.Fatal(err)
	}

	return v
}

// checker knows a page, a tool without one, and a tool nobody may see.
func checker(drop bool) Checker {
	return Checker{PluginID: "bits", Drop: drop, Target: func(tool string) (links.Target, bool) {
		switch tool {
		case "library":
			return links.Target{Name: tool, Global: true}, true
		case "tray":
			return links.Target{Name: tool}, true
		default:
			return links.Target{}, false
		}
	}}
}

func TestLink(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		uri  string
		own  bool
		want string // part of the error; empty for none
	}{
		{"codex://plugins/bits/app/library?path=%2Fparts", true, ""},
		{"chatgpt://plugins/bits/app/library", true, ""},
		{"https://chatgpt.com/plugins/bits/app/library?path=/parts", true, ""},
		{"codex://plugins/bits/app/library?path=%2F%2Fevil.example", true, "two slashes"},
		{"codex://plugins/bits/app/library?path=/a&sort=asc", true, "key other than path"},
		{"codex://plugins/bits/app/library#x", true, "fragment"},
		{"Codex://plugins/bits/app/library", true, "lower case"},
		{"codex://plugins/%zz/app/library", true, "malformed percent escape"},
		{"codex://plugins/bits@acme/app/library", true, "another marketplace"},
		{"codex://plugins/bits/app/tray", true, "no global entrypoint"},
		{"codex://plugins/bits/app/secret", true, "not in the catalog"},
		{"codex://plugins/other/app/secret#x", false, ""},
		{"codex://plugins/bits-and-more/app/secret", false, ""},
		{"codex://plugins/bits", false, ""},
		{"codex://settings", false, ""},
		{"https://example.com/plugins/bits/app/secret", false, ""},
		{"see codex://plugins/bits/app/secret", false, ""},
		{"", false, ""},
	} {
		own, err := checker(false).Link(tt.uri)
		if own != tt.own || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Link(%q) = %v, %v, want %v, %q", tt.uri, own, err, tt.own, tt.want)
		}
	}
}

// TestLinkOfCustomMarketplace: a host looks such a plugin up under both names.
func TestLinkOfCustomMarketplace(t *testing.T) {
	t.Parallel()

	c := checker(false)
	c.Marketplace = "acme"

	if own, err := c.Link("codex://plugins/bits@acme/app/library"); !own || err != nil {
		t.Errorf("link with the marketplace: %v, %v", own, err)
	}

	if _, err := c.Link("codex://plugins/bits/app/library"); !errors.Is(err, ErrOtherMarketplace) {
		t.Errorf("link without the marketplace: %v", err)
	}

	if _, err := c.Link("https://chatgpt.com/plugins/bits/app/library"); !errors.Is(err, links.ErrNoLink) {
		t.Errorf("link on the web: %v", err)
	}
}

func TestResult(t *testing.T) {
	t.Parallel()

	const (
		good   = `codex://plugins/bits/app/library?path=%2Fparts`
		hidden = `codex:\/\/plugins\/bits\/app\/secret`
		broken = `https://chatgpt.com/plugins/bits/app/library?path=parts`
	)

	for _, tt := range []struct {
		name, in string
		dropped  string // empty: as in
		pointers []string
	}{
		{"nothing", `{}`, "", nil},
		{"no links", `{ "content" : [ {"type":"text","text":"hi"} ], "structuredContent":{"a":[1, true,null,"x"]} }`, "", nil},
		{"good links", `{"content":[{"type":"resource_link","uri":"` + good + `"}],"structuredContent":{"url":"` + good + `"}}`, "", nil},
		{"free text is not judged", `{"content":[{"type":"text","text":"` + hidden + `"}]}`, "", nil},
		{"longer strings are not judged", `{"structuredContent":"go to ` + hidden + `"}`, "", nil},
		{"metadata is not judged", `{"content":[],"_meta":{"x":"` + hidden + `"}}`, "", nil},
		{
			"block", `{"content":[{"type":"text","text":"a"}, {"type":"resource_link","uri":"` + hidden + `","name":"n"}], "isError" : false}`,
			`{"content":[{"type":"text","text":"a"}], "isError" : false}`,
			[]string{"/content/1/uri"},
		},
		{
			"members", `{"structuredContent" : { "a/b~": "` + broken + `" ,"ok":"` + good + `", "list":[ "x", "` + hidden + `",{"deep":"` + hidden + `"} ] }}`,
			`{"structuredContent" : { "a/b~": "" ,"ok":"` + good + `", "list":[ "x", "",{"deep":""} ] }}`,
			[]string{"/structuredContent/a~1b~0", "/structuredContent/list/1", "/structuredContent/list/2/deep"},
		},
		{
			"block and member", `{"structuredContent":{"u":"` + hidden + `"},"content":[{"type":"resource_link","uri":"` + broken + `"}]}`,
			`{"structuredContent":{"u":""},"content":[]}`,
			[]string{"/content/0/uri", "/structuredContent/u"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			for _, drop := range []bool{false, true} {
				want := tt.in
				if drop && tt.dropped != "" {
					want = tt.dropped
				}

				got, findings := checker(drop).Result(parse(t, tt.in))
				if string(got) != want {
					t.Errorf("drop %v:\n got %s\nwant %s", drop, got, want)
				}

				var pointers []string
				for _, f := range findings {
					pointers = append(pointers, f.Pointer)
				}

				if fmt.Sprint(pointers) != fmt.Sprint(tt.pointers) {
					t.Errorf("drop %v: findings %v, want %v", drop, findings, tt.pointers)
				}
			}
		})
	}
}

// TestResultOfManyFaults: what is told is bounded, what is dropped is not.
func TestResultOfManyFaults(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("é", maxPointer)
	text := `{"structuredContent":{"` + long + `":[` + strings.Repeat(`"codex://plugins/bits/app/secret",`, 5000) + `""]}}`

	got, findings := checker(true).Result(parse(t, text))
	if strings.Contains(string(got), "secret") {
		t.Error("a hidden tool is still named")
	}

	if len(findings) != maxFindings || len(findings[0].Pointer) > maxPointer+len("…") {
		t.Errorf("%d findings, the first at %q", len(findings), findings[0].Pointer)
	}
}

// FuzzResult: whatever a server answers stays JSON, keeps everything that is no
// faulty link, and holds no faulty link afterwards.
func FuzzResult(f *testing.F) {
	for _, s := range []string{
		`{"content":[{"type":"resource_link","uri":"codex://plugins/bits/app/secret"}],"structuredContent":{"a":"codex://plugins/bits/app/x"}}`,
		`{"structuredContent":["\u0063odex://plugins/bits/app/secret",{"b":"chatgpt://plugins/bits/app/library#"}]}`,
		`[]`, `null`, `{"content":{},"structuredContent":"codex://plugins/%/app/"}`,
	} {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, s string) {
		v, err := rawjson.ParseLenient([]byte(s), depth)
		if err != nil {
			t.Skip()
		}

		if got, _ := checker(false).Result(v); string(got) != string(v) {
			t.Fatalf("looking changed %s into %s", v, got)
		}

		got, findings := checker(true).Result(v)
		if len(findings) == 0 && string(got) != string(v) {
			t.Fatalf("changed without a finding: %s into %s", v, got)
		}

		again, err := rawjson.ParseLenient(got, depth)
		if err != nil {
			t.Fatalf("no JSON any more: %s", got)
		}

		if _, findings := checker(true).Result(again); len(findings) != 0 {
			t.Fatalf("%s still holds %v", again, findings)
		}
	})
}

func ExampleChecker_Link() {
	c := Checker{PluginID: "bits-and-bolts", Target: func(tool string) (links.Target, bool) {
		return links.Target{Name: tool, Global: true}, tool == "cad.library"
	}}

	fmt.Println(c.Link("codex://plugins/bits-and-bolts/app/cad.library?path=%2Fparts"))
	fmt.Println(c.Link("codex://plugins/bits-and-bolts/app/cad.delete"))
	fmt.Println(c.Link("https://example.com/"))
	// Output:
	// true <nil>
	// true tool is not in the catalog
	// false <nil>
}

func ExampleChecker_Result() {
	c := Checker{PluginID: "bits-and-bolts", Drop: true, Target: func(string) (links.Target, bool) {
		return links.Target{}, false
	}}

	result, findings := c.Result(rawjson.Value(`{"structuredContent":{"open":"codex://plugins/bits-and-bolts/app/cad.delete"}}`))
	fmt.Println(string(result))
	fmt.Println(findings[0].Pointer, findings[0].Err)
	// Output:
	// {"structuredContent":{"open":""}}
	// /structuredContent/open tool is not in the catalog
}
