package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Inventory is everything an upstream lists to one caller, before anything is
// filtered. Like a [Catalog] it holds facts, never permission.
type Inventory struct {
	Era          Era
	Version      string        // of the protocol, as agreed with the server
	Server       rawjson.Value // serverInfo, nil if it says nothing
	Capabilities rawjson.Value // nil if it says nothing
	Tools        *Catalog
	// Prompts, Resources and Templates are the names, URIs and URI templates.
	Prompts, Resources, Templates []string
	// Problems are lists, other than that of tools, that could not be had.
	Problems []string
	Asked    time.Time
}

// inventoryLegacyVersion is offered to servers that do not know the modern era.
const inventoryLegacyVersion = "2025-11-25"

// inventoryClient is what is said about the client: that it shows pages, since
// servers list the tools of pages to no other.
const inventoryClient = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`

// AskInventory asks a server for all it lists: as a modern client first, and as
// a legacy one in a session of its own if the server does not know the modern
// era. header goes out with every request. No list may have more than maxEntries
// entries. Errors wrap [ErrCatalog].
func AskInventory(ctx context.Context, ask Exchange, header http.Header, client string, maxEntries int) (*Inventory, error) {
	header = header.Clone()
	for _, name := range []string{HeaderSession, HeaderVersion, HeaderMethod, HeaderName} {
		header.Del(name)
	}
	info, _ := rawjson.Value("{}").Set(rawjson.Quote(client), "name") // cannot fail, nor the next ones
	info, _ = info.Set(rawjson.Quote("1"), "version")
	i, err := askModern(ctx, ask, header, info, maxEntries)
	if refusal, ok := errors.AsType[*RefusalError](err); ok && unknownEra(refusal) || errors.Is(err, ErrMalformed) {
		i, err = askLegacy(ctx, ask, header, info, maxEntries)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCatalog, err)
	}
	i.Asked = time.Now()
	return i, nil
}

// unknownEra reports whether a server may have refused only the era. Who may not
// ask is not asked again.
func unknownEra(r *RefusalError) bool {
	switch r.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return false
	default:
		return r.Status < http.StatusInternalServerError
	}
}

func askModern(ctx context.Context, ask Exchange, header http.Header, info rawjson.Value, maxEntries int) (*Inventory, error) {
	meta := rawjson.Value("{}")
	for name, value := range map[string]rawjson.Value{
		"io.modelcontextprotocol/protocolVersion":    rawjson.Quote(FirstModernVersion),
		"io.modelcontextprotocol/clientInfo":         info,
		"io.modelcontextprotocol/clientCapabilities": rawjson.Value(inventoryClient),
	} {
		meta, _ = meta.Set(value, name)
	}
	header = header.Clone()
	header.Set(HeaderVersion, FirstModernVersion)
	c := NewConversation(ask, header, meta)
	told, err := c.Call(ctx, "server/discover", nil)
	if err != nil {
		return nil, err
	}
	i := &Inventory{
		Era: Modern, Version: FirstModernVersion, Capabilities: told.Get("capabilities"),
		Server: told.Get("_meta", "io.modelcontextprotocol/serverInfo"),
	}
	if !i.Server.Exists() {
		i.Server = told.Get("serverInfo")
	}
	return i, i.ask(ctx, c, maxEntries)
}

func askLegacy(ctx context.Context, ask Exchange, header http.Header, info rawjson.Value, maxEntries int) (*Inventory, error) {
	params, _ := rawjson.Value("{}").Set(rawjson.Quote(inventoryLegacyVersion), "protocolVersion")
	params, _ = params.Set(rawjson.Value(inventoryClient), "capabilities")
	params, _ = params.Set(info, "clientInfo")
	c := NewConversation(ask, header, nil)
	defer func() {
		go func() { // keeps nobody waiting
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endSessionTimeout)
			defer cancel()
			c.End(ctx)
		}()
	}()
	told, err := c.Open(ctx, params)
	if err != nil {
		return nil, err
	}
	i := &Inventory{Era: Legacy, Capabilities: told.Get("capabilities"), Server: told.Get("serverInfo")}
	i.Version, _ = told.Get("protocolVersion").Text()
	return i, i.ask(ctx, c, maxEntries)
}

// ask reads the lists. A list that the server does not advertise is empty; that
// of tools is asked for in any case, since some servers do not say that they
// have tools.
func (i *Inventory) ask(ctx context.Context, c *Conversation, maxEntries int) error {
	i.Tools = &Catalog{}
	err := c.Pages(ctx, "tools/list", func(result rawjson.Value) error { return i.Tools.addPage(result, maxEntries) })
	if err != nil && (!missing(err) || i.Capabilities.Get("tools").Exists()) {
		return fmt.Errorf("tools/list: %w", err)
	}
	for _, list := range []struct {
		capability, method, list, member string
		into                             *[]string
	}{
		{"prompts", "prompts/list", "prompts", "name", &i.Prompts},
		{"resources", "resources/list", "resources", "uri", &i.Resources},
		{"resources", "resources/templates/list", "resourceTemplates", "uriTemplate", &i.Templates},
	} {
		if !i.Capabilities.Get(list.capability).Exists() {
			continue
		}
		err := c.Pages(ctx, list.method, func(result rawjson.Value) error {
			return Entries(result, list.list, list.member, func(id string, _ rawjson.Value) error {
				if len(*list.into) == maxEntries {
					return fmt.Errorf("%w: more than %d entries", ErrTooLarge, maxEntries)
				}
				*list.into = append(*list.into, id)
				return nil
			})
		})
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !missing(err) {
			i.Problems = append(i.Problems, fmt.Sprintf("%s: %v", list.method, err))
		}
	}
	return nil
}

// missing reports whether a server says that it knows no such method.
func missing(err error) bool {
	refusal, ok := errors.AsType[*RefusalError](err)
	if !ok {
		return false
	}
	code, _ := refusal.Code()
	return code == CodeMethodNotFound
}
