package page

import (
	"crypto/sha256"
	_ "embed" // the client
	"encoding/base64"
	"strings"
)

//go:generate ../../integration/node/node_modules/.bin/esbuild client/client.js --minify --format=iife --outfile=client/client.min.js

var (
	//go:embed client/client.js
	module string

	//go:embed client/client.d.ts
	declarations string

	// minified is the module as a script that ends in nothing but its effects.
	//go:embed client/client.min.js
	minified string
)

// code is what stands inside the script element.
var code = strings.TrimSpace(minified)

// mark is the attribute that holds the options of an injected client. Its name
// is part of every form of the client too, so a page that carries one can be
// told by it.
const (
	mark   = "data-mcp-app-page"
	marker = "mcp-app-page"
)

// Module returns the client as a page can import it: one ES module without
// dependencies, readable, with nothing to build.
func Module() string { return module }

// Declarations returns the TypeScript declarations of the module.
func Declarations() string { return declarations }

// Hash returns the source expression that allows the injected script in a
// content security policy: the same for every page and every configuration,
// different with every release of the client.
func Hash() string {
	sum := sha256.Sum256([]byte(code))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// attributeEscaper keeps an attribute value in its quotes. The rest is escaped
// for readers of markup that are less exact than browsers.
var attributeEscaper = strings.NewReplacer(
	"&", "&amp;", `"`, "&quot;", "'", "&#39;", "<", "&lt;", ">", "&gt;", "`", "&#96;",
)

// script is the element with the given options, a JSON text.
func script(options string) string {
	return "<script " + mark + `="` + attributeEscaper.Replace(options) + `">` + code + "</script>"
}
