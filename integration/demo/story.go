package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// scene is one step of the demo.
type scene func(ctx context.Context, out *narrator, c *cast) error

// tell plays all scenes in their order.
func tell(ctx context.Context, out *narrator, c *cast) error {
	out.title("caddy-mcp-app: a ChatGPT plugin out of a server that nobody changed")
	out.text("Behind the gateway runs a workspace server with the decks of two companies, acme and")
	out.text("globex. It has tools and pages, and believes whoever it is told is calling. Everything")
	out.text("below (login, tenants, what ChatGPT needs) comes from Caddyfile.example.")
	for _, play := range []scene{
		withoutToken, metadata, editorOfAcme, settings, aDeck, viewerOfAcme, editorOfGlobex, deepLinks, upstream, olderClient,
	} {
		if err := play(ctx, out, c); err != nil {
			return err
		}
	}
	out.title(fmt.Sprintf("All %d steps gave the expected answers.", out.steps))
	return nil
}

func withoutToken(ctx context.Context, out *narrator, c *cast) error {
	out.step("Somebody without a token", "ChatGPT connects for the first time and learns where to log in.")
	out.request("POST " + c.stack.URL("acme") + "  server/discover")
	r, err := c.call(ctx, "acme", nil, "server/discover", "", nil, nil)
	if err != nil {
		return err
	}
	challenge := r.header.Get("WWW-Authenticate")
	out.answer(fmt.Sprint(r.status), "")
	out.answer("WWW-Authenticate:", challenge)
	return errors.Join(
		out.check(r.status == http.StatusUnauthorized, "401, and the server behind was not asked"),
		out.check(strings.Contains(challenge, `resource_metadata="`) && !strings.Contains(challenge, "error="), "the challenge says where to read about login; no error, since no token was wrong"),
	)
}

func metadata(ctx context.Context, out *narrator, c *cast) error {
	out.step("The metadata document", "It names the company's own endpoint and the issuer of its tokens (RFC 9728).")
	address := strings.Replace(c.stack.URL("acme"), "/mcp", "/.well-known/oauth-protected-resource/mcp", 1)
	out.request("GET " + address)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	r, err := c.do(request)
	if err != nil {
		return err
	}
	out.answer(fmt.Sprint(r.status), string(r.body))
	resource, _ := r.json.Get("resource").Text()
	return out.check(r.status == http.StatusOK && resource == c.stack.URL("acme"), "the resource is exactly the URL the user entered")
}

func editorOfAcme(ctx context.Context, out *narrator, c *cast) error {
	out.step("An editor of acme", "What ChatGPT reads to build the plugin: capabilities, tools, pages.")
	who := editor("acme")
	out.request("server/discover")
	discover, err := c.call(ctx, "acme", &who, "server/discover", "", nil, nil)
	if err != nil {
		return err
	}
	capability := discover.json.Get("result", "capabilities", "extensions", "openai/settings")
	out.answer(`extensions["openai/settings"]`, string(capability))
	if err := out.check(capability.Exists(), "a settings page is advertised: both of its tools are in this caller's catalog"); err != nil {
		return err
	}

	out.request("tools/list")
	list, err := c.call(ctx, "acme", &who, "tools/list", "", nil, nil)
	if err != nil {
		return err
	}
	entrypoints := list.find("workspace.home").Get("_meta", "openai/ui", "entrypoints")
	scope, _ := list.json.Get("result", "cacheScope").Text()
	out.answer("names", strings.Join(list.names(), ", "))
	out.answer("workspace.home", string(entrypoints))
	if err := errors.Join(
		out.check(string(entrypoints) == `[{"type":"global"}]`, "workspace.home gets its place in the sidebar; the server never heard of that"),
		out.check(!slices.Contains(list.names(), "admin.purge_deck"), "admin.purge_deck, which no rule names, does not exist"),
		out.check(scope == "private", "no shared cache may keep this list for somebody else"),
	); err != nil {
		return err
	}

	out.request("resources/read ui://workspace/home")
	page, err := c.call(ctx, "acme", &who, "resources/read", "ui://workspace/home", map[string]any{"uri": "ui://workspace/home"}, nil)
	if err != nil {
		return err
	}
	var item rawjson.Value
	for item = range page.json.Get("result", "contents").Elements() {
		break
	}
	out.answer("_meta", string(item.Get("_meta")))
	preferred, _ := item.Get("_meta", "openai/ui", "preferredDisplayMode").Text()
	return out.check(preferred == "fullscreen" && item.Get("text").Exists(), "the page opens full screen; its HTML is untouched")
}

func settings(ctx context.Context, out *narrator, c *cast) error {
	out.step("Settings", "The editor changes one setting and reads all of them back.")
	who := editor("acme")
	out.request(`tools/call settings.update {"set":{"theme":"dark"}}`)
	update, err := c.tool(ctx, "acme", &who, "settings.update", map[string]any{"set": map[string]any{"theme": "dark"}})
	if err != nil {
		return err
	}
	out.answer("values", string(update.json.Get("result", "structuredContent", "values")))
	out.request("tools/call settings.read {}")
	read, err := c.tool(ctx, "acme", &who, "settings.read", map[string]any{})
	if err != nil {
		return err
	}
	out.answer("values", string(read.json.Get("result", "structuredContent", "values")))
	theme, _ := read.json.Get("result", "structuredContent", "values", "theme").Text()
	return out.check(theme == "dark", "the change has arrived in the server's database")
}

func aDeck(ctx context.Context, out *narrator, c *cast) error {
	out.step("A deck", "The editor has a deck made and reads it back.")
	who := editor("acme")
	deck := map[string]any{"deckId": "launch-plans", "title": "Acme launch plans", "columns": []any{map[string]any{
		"title": "#rocketskates", "connectionId": "acme-main", "source": map[string]any{"kind": "hashtag", "value": "rocketskates"},
	}}}
	out.request(`tools/call create_deck {"deckId":"launch-plans","title":"Acme launch plans","columns":[…]}`)
	made, err := c.tool(ctx, "acme", &who, "create_deck", deck)
	if err != nil {
		return err
	}
	out.answer("deck", string(made.json.Get("result", "structuredContent", "deck")))
	out.request(`tools/call create_deck {"deckId":"launch-plans", …}   once more, as after a lost answer`)
	if _, err := c.tool(ctx, "acme", &who, "create_deck", deck); err != nil {
		return err
	}
	out.request(`tools/call get_deck {"deckId":"launch-plans"}`)
	read, err := c.tool(ctx, "acme", &who, "get_deck", map[string]any{"deckId": "launch-plans"})
	if err != nil {
		return err
	}
	found := read.json.Get("result", "structuredContent", "deck")
	out.answer("deck", string(found))
	if err := out.check(found.Exists() && string(found) == string(made.json.Get("result", "structuredContent", "deck")), "asking twice made one deck, still at its first revision"); err != nil {
		return err
	}
	out.request(`tools/call replace_deck {"deckId":"launch-plans","expectedRevision":1, …}   (no rule names this tool)`)
	replaced, err := c.tool(ctx, "acme", &who, "replace_deck", map[string]any{"deckId": "launch-plans", "expectedRevision": 1, "title": "x", "columns": []any{}})
	if err != nil {
		return err
	}
	out.answer(fmt.Sprint(replaced.status), string(replaced.body))
	return out.check(replaced.json.Get("error").Exists(), "what no rule names cannot be called, although the server has it")
}

func viewerOfAcme(ctx context.Context, out *narrator, c *cast) error {
	out.step("A viewer of acme", "Same company, fewer rights: what is not for the viewer cannot be seen, nor guessed.")
	who := viewer("acme")
	out.request("server/discover")
	discover, err := c.call(ctx, "acme", &who, "server/discover", "", nil, nil)
	if err != nil {
		return err
	}
	out.answer("capabilities", string(discover.json.Get("result", "capabilities")))
	out.request("tools/list")
	list, err := c.call(ctx, "acme", &who, "tools/list", "", nil, nil)
	if err != nil {
		return err
	}
	out.answer("names", strings.Join(list.names(), ", "))
	if err := errors.Join(
		out.check(!discover.json.Get("result", "capabilities", "extensions", "openai/settings").Exists(), "no settings page is advertised"),
		out.check(!slices.Contains(list.names(), "settings.update"), "the settings tools are not listed"),
	); err != nil {
		return err
	}

	out.request(`tools/call settings.update {"set":{"theme":"light"}}   (a guess)`)
	guess, err := c.tool(ctx, "acme", &who, "settings.update", map[string]any{"set": map[string]any{"theme": "light"}})
	if err != nil {
		return err
	}
	out.answer(fmt.Sprint(guess.status), string(guess.body))
	reason, err := lastReason(c.stack.LogFile)
	if err != nil {
		return err
	}
	out.answer("but the operator's log says:", reason)
	out.request("tools/call no.such_tool {}")
	unknown, err := c.tool(ctx, "acme", &who, "no.such_tool", map[string]any{})
	if err != nil {
		return err
	}
	out.answer(fmt.Sprint(unknown.status), string(unknown.body))
	alike := strings.ReplaceAll(string(guess.body), "settings.update", "no.such_tool") == string(unknown.body)
	if err := out.check(guess.status == unknown.status && alike, "the guess is answered like a name that does not exist"); err != nil {
		return err
	}

	out.request(`tools/call create_deck {"title":"Plans"}`)
	create, err := c.tool(ctx, "acme", &who, "create_deck", map[string]any{"title": "Plans"})
	if err != nil {
		return err
	}
	out.answer(fmt.Sprint(create.status), create.header.Get("WWW-Authenticate"))
	return out.check(create.status == http.StatusForbidden && strings.Contains(create.header.Get("WWW-Authenticate"), `scope="mcp.use decks.write"`),
		"where the policy says challenge, ChatGPT is told which scopes to ask the user for")
}

func editorOfGlobex(ctx context.Context, out *narrator, c *cast) error {
	out.step("An editor of globex", "Another company on the same server.")
	who := editor("globex")
	out.request("tools/call list_decks {}   on " + c.stack.URL("globex"))
	decks, err := c.tool(ctx, "globex", &who, "list_decks", map[string]any{})
	if err != nil {
		return err
	}
	out.answer("", string(decks.json.Get("result", "structuredContent")))
	body := strings.ToLower(string(decks.body))
	if err := out.check(strings.Contains(body, "globex") && !strings.Contains(body, "acme"), "globex sees its own decks and nothing of acme"); err != nil {
		return err
	}
	out.request("tools/call list_decks {}   on " + c.stack.URL("acme") + ", with a token made for it")
	// Even a token whose audience is acme's endpoint does not help: the tenant
	// in it is another.
	who.tenant = "acme"
	r, err := c.asTenant(ctx, who, "globex")
	if err != nil {
		return err
	}
	out.answer(fmt.Sprint(r.status), string(r.body))
	return out.check(r.status == http.StatusForbidden && !strings.Contains(strings.ToLower(string(r.body)), "tenant"), "403 on acme's host, without a hint why")
}

func deepLinks(ctx context.Context, out *narrator, c *cast) error {
	out.step("Deep links", "A link into the app carries a path that anybody may have written.")
	who := editor("acme")
	out.request(`tools/call workspace.navigate {"url":"/decks/rocket-skates?tab=cards"}`)
	good, err := c.tool(ctx, "acme", &who, "workspace.navigate", map[string]any{"url": "/decks/rocket-skates?tab=cards"})
	if err != nil {
		return err
	}
	out.answer("", string(good.json.Get("result", "structuredContent")))
	if err := out.check(good.json.Get("result", "structuredContent", "deck").Exists(), "a good link lands on the deck"); err != nil {
		return err
	}
	c.stack.Workspace.ForgetCalls()
	out.request(`tools/call workspace.navigate {"url":"/decks/%2e%2e/admin"}`)
	bad, err := c.tool(ctx, "acme", &who, "workspace.navigate", map[string]any{"url": "/decks/%2e%2e/admin"})
	if err != nil {
		return err
	}
	out.answer(fmt.Sprint(bad.status), string(bad.body))
	return out.check(bad.json.Get("error").Exists() && len(c.stack.Workspace.Calls()) == 0, "a disguised traversal never reaches the server")
}

func upstream(ctx context.Context, out *narrator, c *cast) error {
	out.step("What the server behind gets to see", "A viewer claims to be the boss of globex in headers of their own.")
	who := viewer("acme")
	c.stack.Workspace.ForgetCalls()
	out.request("tools/call list_decks {}   X-Mcp-App-Tenant: globex, x_mcp_app_subject: boss")
	_, err := c.call(ctx, "acme", &who, "tools/call", "list_decks", map[string]any{"name": "list_decks"},
		http.Header{"X-Mcp-App-Tenant": {"globex"}, "x_mcp_app_subject": {"boss"}})
	if err != nil {
		return err
	}
	calls := c.stack.Workspace.Calls()
	if len(calls) != 1 {
		return fmt.Errorf("the server saw %d calls, expected 1", len(calls))
	}
	h := calls[0].Header
	for _, name := range []string{"X-Mcp-App-Tenant", "X-Mcp-App-Subject", "X-Mcp-App-Scopes", "Authorization"} {
		out.answer(name+":", strings.Join(h.Values(name), ", "))
	}
	return errors.Join(
		out.check(h.Get("X-Mcp-App-Tenant") == "acme" && h.Get("X-Mcp-App-Subject") == who.subject && h["x_mcp_app_subject"] == nil, "forged headers are gone, the verified ones are there"),
		out.check(h.Get("Authorization") == "", "the token stays at the gateway"),
	)
}

func olderClient(ctx context.Context, out *narrator, c *cast) error {
	out.step("A client of the older protocol", "Clients up to 2025-11-25 begin with initialize; the same rules hold.")
	for _, who := range []person{editor("acme"), viewer("acme")} {
		out.request("initialize, as " + who.name)
		r, err := c.initialize(ctx, who)
		if err != nil {
			return err
		}
		capabilities := r.json.Get("result", "capabilities")
		extension, experimental := capabilities.Get("extensions", "openai/settings"), capabilities.Get("experimental", "openai/settings")
		out.answer("extensions", string(capabilities.Get("extensions")))
		out.answer("experimental", string(capabilities.Get("experimental")))
		may := slices.Contains(who.scopes, "settings.write")
		if err := out.check(extension.Exists() == may && experimental.Exists() == may, map[bool]string{
			true: "settings are advertised in both places where older clients look", false: "no settings for the viewer",
		}[may]); err != nil {
			return err
		}
	}
	return nil
}

// lastReason reads why the gateway refused the last request.
func lastReason(logFile string) (string, error) {
	log, err := os.ReadFile(logFile)
	if err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	for _, line := range slices.Backward(lines) {
		entry, err := rawjson.ParseLenient([]byte(line), mcp.DefaultDepth)
		if reason, ok := entry.Get("reason").Text(); err == nil && ok {
			return reason, nil
		}
	}
	return "", errors.New("the gateway's log holds no reason")
}
