package page_test

import (
	"fmt"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/page"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

func ExampleInjector_Content() {
	injector, err := page.Compile(page.Config{Pages: []page.Page{{URI: "ui://workspace/*", Navigate: "workspace.navigate"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	item := rawjson.Value(`{"uri":"ui://workspace/home","mimeType":"text/html;profile=mcp-app","text":"<!doctype html><head><title>Home</title>"}`)
	item, _ = injector.Content(item)
	text, _ := item.Get("text").Text()
	before, rest, _ := strings.Cut(text, ">(")
	_, after, _ := strings.Cut(rest, "</script>")
	fmt.Println(before + ">…</script>" + after)
	// Output:
	// <!doctype html><head><script data-mcp-app-page="{&quot;navigate&quot;:&quot;workspace.navigate&quot;}">…</script><title>Home</title>
}
