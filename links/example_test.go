package links_test

import (
	"errors"
	"fmt"

	"github.com/caddy-mcp-app/caddy-mcp-app/links"
)

func ExampleParseAppURL() {
	u, err := links.ParseAppURL("/parts?tag=hex%20bolt")
	fmt.Println(u, err)

	_, err = links.ParseAppURL("/parts/%2e%2e/admin")
	fmt.Println(err)

	if e, ok := errors.AsType[*links.Error](err); ok {
		fmt.Println(e.Part, e.Offset, e.Reason)
	}
	// Output:
	// /parts?tag=hex%20bolt <nil>
	// path holds a dot segment (byte 7)
	// path 7 holds a dot segment
}

func ExampleAppURL_Path() {
	u, _ := links.ParseAppURL("/caf%C3%A9?table=4")
	fmt.Println(u.Path())
	// Output: /café
}

func ExampleAppURL_Query() {
	u, _ := links.ParseAppURL("/caf%C3%A9?table=4")
	fmt.Println(u.Query())
	// Output: table=4
}

func ExampleAppURL_Match() {
	u, _ := links.ParseAppURL("/t/acme/orders/42?print=1")
	fmt.Println(u.Match("/t/acme/*"), u.Match("/t/globex/*"))
	// Output: true false
}

func ExampleParseTenantPath() {
	_, err := links.ParseTenantPath("/t/x-{tenant}/*", "{tenant}")
	fmt.Println(err)
	// Output: pattern "/t/x-{tenant}/*": {tenant} must be a whole path segment
}

func ExampleTenantPath_Allows() {
	pages, _ := links.ParseTenantPath("/t/{tenant}/*", "{tenant}")
	fmt.Println(pages.Allows("/t/acme/orders", "acme"), pages.Allows("/t/globex/orders", "acme"))
	// Output: true false
}

func ExampleTenantPath_Bound() {
	pages, _ := links.ParseTenantPath("/app/*", "{tenant}")
	fmt.Println(pages.Bound())
	// Output: false
}

func ExampleNavigateArguments() {
	fmt.Println(links.NavigateArguments([]byte(`{"url":"/orders/42"}`)))

	_, err := links.NavigateArguments([]byte(`{"url":"/orders/42","tenant":"globex"}`))
	fmt.Println(err)
	// Output:
	// /orders/42 <nil>
	// arguments must hold nothing but one url (byte 20)
}

func ExampleCheckNavigate() {
	catalog := []links.Target{{Name: "cad.navigate", ReadOnly: true}}

	fmt.Println(links.CheckNavigate("cad.navigate", catalog, []byte(`{"url":"/orders/42"}`)))

	_, err := links.CheckNavigate("cad.delete", catalog, []byte(`{"url":"/orders/42"}`))
	fmt.Println(errors.Is(err, links.ErrUnknownTool))
	// Output:
	// /orders/42 <nil>
	// true
}

func ExampleHostContextURL() {
	fmt.Println(links.HostContextURL([]byte(`{"theme":"dark","openai/deepLink":{"url":"/orders/42"}}`)))
	fmt.Println(links.HostContextURL([]byte(`{"theme":"dark"}`)))
	// Output:
	// /orders/42 true <nil>
	//  false <nil>
}

func ExampleAppLink_Build() {
	link := links.AppLink{
		PluginID: "bits-and-bolts",
		Tool:     "cad.library",
		Path:     "/parts?tag=bolt&sort=asc",
		Platform: links.Desktop,
	}
	fmt.Println(link.Build())

	link.Platform = links.Web
	fmt.Println(link.Build())
	// Output:
	// codex://plugins/bits-and-bolts/app/cad.library?path=%2Fparts%3Ftag%3Dbolt%26sort%3Dasc <nil>
	// https://chatgpt.com/plugins/bits-and-bolts/app/cad.library?path=%2Fparts%3Ftag%3Dbolt%26sort%3Dasc <nil>
}

func ExampleParseAppLink() {
	link, err := links.ParseAppLink("codex://plugins/bits-and-bolts@acme/app/cad.library?path=%2Fparts")
	fmt.Println(link.PluginID, link.Marketplace, link.Tool, link.Path, link.Platform, err)

	_, err = links.ParseAppLink("codex://plugins/bits-and-bolts/app/cad.library?path=/parts&sort=asc")
	fmt.Println(err)

	_, err = links.ParseAppLink("https://example.com/")
	fmt.Println(errors.Is(err, links.ErrNotAppLink))
	// Output:
	// bits-and-bolts acme cad.library /parts desktop <nil>
	// query holds a key other than path; encode the path as one value (byte 59)
	// true
}

func ExamplePluginOf() {
	fmt.Println(links.PluginOf("codex://plugins/bits-and-bolts/app/cad.library?path=/a#b"))
	fmt.Println(links.PluginOf("https://example.com/"))
	// Output:
	// bits-and-bolts true
	//  false
}

func ExampleAppLink_CheckTarget() {
	catalog := []links.Target{{Name: "cad.library", Global: true}, {Name: "cad.tray"}}

	fmt.Println(links.AppLink{Tool: "cad.library"}.CheckTarget(catalog))
	fmt.Println(links.AppLink{Tool: "cad.tray"}.CheckTarget(catalog))
	// Output:
	// <nil>
	// tool carries no global entrypoint (byte 0)
}

func ExampleParsePlatform() {
	fmt.Println(links.ParsePlatform("mobile"))
	// Output: mobile <nil>
}

func ExampleChoosePlatform() {
	fmt.Println(links.ChoosePlatform("", links.Hints{Platform: `"macOS"`}))
	fmt.Println(links.ChoosePlatform("web", links.Hints{Platform: `"macOS"`}))
	// Output:
	// desktop <nil>
	// web <nil>
}

func ExampleParseFallback() {
	fmt.Println(links.ParseFallback("https://App.example.com/shop"))

	_, err := links.ParseFallback("http://app.example.com/")
	fmt.Println(err)
	// Output:
	// https://app.example.com/shop <nil>
	// fallback does not begin with https:// (byte 0)
}

func ExampleFallback_Join() {
	fallback, _ := links.ParseFallback("https://app.example.com/shop")

	fmt.Println(fallback.Join("/parts?tag=bolt"))
	fmt.Println(fallback.Join("//evil.example"))
	// Output:
	// https://app.example.com/shop/parts?tag=bolt <nil>
	//  path begins with two slashes, which name another host (byte 1)
}

func ExampleFallback_String() {
	fallback, _ := links.ParseFallback("https://app.example.com/shop")
	fmt.Println(fallback)
	// Output: https://app.example.com/shop
}

func ExampleFallback_IsZero() {
	fmt.Println(links.Fallback{}.IsZero())
	// Output: true
}

func ExampleParseOpenRequest() {
	r, err := links.ParseOpenRequest("cad.library?path=%2Fparts&platform=mobile")
	fmt.Println(r.Tool, r.Path, r.Platform, err)
	// Output: cad.library /parts mobile <nil>
}

func ExampleOpener_Link() {
	fallback, _ := links.ParseFallback("https://app.example.com")
	opener := links.Opener{PluginID: "bits-and-bolts", Fallback: fallback}

	fmt.Println(opener.Link(links.Mobile, "cad.library", "/parts"))
	fmt.Println(opener.Link(links.App, "cad.library", "/parts"))
	// Output:
	// chatgpt://plugins/bits-and-bolts/app/cad.library?path=%2Fparts <nil>
	// https://app.example.com/parts <nil>
}

func ExampleOpener_Choices() {
	opener := links.Opener{PluginID: "bits-and-bolts", Marketplace: "acme"}

	choices, _ := opener.Choices("cad.library", "/parts")
	for _, c := range choices {
		fmt.Println(c.Platform, c.URL)
	}
	// Output:
	// desktop codex://plugins/bits-and-bolts@acme/app/cad.library?path=%2Fparts
	// mobile chatgpt://plugins/bits-and-bolts@acme/app/cad.library?path=%2Fparts
}

func ExampleCheckOnboardingSkill() {
	fmt.Println(links.CheckOnboardingSkill("./skills/setup/SKILL.md"))
	fmt.Println(links.CheckOnboardingSkill("./skills/../SKILL.md"))
	// Output:
	// <nil>
	// skill holds a folder that is empty, ends in a dot or has outer spaces (byte 9)
}

func ExampleError() {
	_, err := links.ParseAppURL("/a\tb")
	if e, ok := errors.AsType[*links.Error](err); ok {
		fmt.Printf("%s %s\n%q\n%*s\n", e.Part, e.Reason, "/a\tb", e.Offset+2, "^")
	}
	// Output:
	// path holds control character U+0009
	// "/a\tb"
	//    ^
}
