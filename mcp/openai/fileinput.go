package openai

import (
	"errors"
	"fmt"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Limits of what a file entrypoint hands over.
const (
	maxFileName = 255  // bytes, as file systems count
	maxFileURI  = 2048 // bytes
)

// FileInput checks the arguments with which ChatGPT opens a file entrypoint: a
// file name without a path, and an opaque address that reaches nothing but the
// host's own file. extensions, if there are any, are those of the entrypoint.
// (Extensions, File Extension Entrypoint, FileInput.)
func FileInput(arguments rawjson.Value, extensions []string) error {
	if err := closed(arguments, "file"); err != nil {
		return fmt.Errorf("file input: %w", err)
	}
	file := arguments.Get("file")
	if err := closed(file, "name", "resourceUri"); err != nil {
		return fmt.Errorf("file input: file %w", err)
	}
	name, _ := file.Get("name").Text()
	switch {
	case len(name) > maxFileName || !visibleText(name, maxFileName):
		return fmt.Errorf("file input: name must be visible text of at most %d bytes", maxFileName)
	case strings.ContainsAny(name, `/\`) || name == "." || name == "..":
		return errors.New("file input: name must be a file name, not a path")
	case !hasExtension(name, extensions):
		return fmt.Errorf("file input: name must end in %s", strings.Join(extensions, " or "))
	}
	uri, _ := file.Get("resourceUri").Text()
	scheme, ok := uriScheme(uri)
	if !ok || len(uri) > maxFileURI {
		return fmt.Errorf("file input: resourceUri must be an address with a scheme, of at most %d bytes", maxFileURI)
	}
	switch scheme {
	case "file", "http", "https", "data", "javascript", "vbscript", "blob", "ftp", "ws", "wss":
		return fmt.Errorf("file input: resourceUri must be opaque, not a %s: address", scheme)
	}
	return nil
}

// FileExtensions lists the file extensions declared for a tool, nil if there
// are none.
func (o *Overlay) FileExtensions(tool string) []string {
	for _, e := range o.entrypoints[tool] {
		if e.kind == entrypointFile {
			return append([]string(nil), e.extensions...)
		}
	}
	return nil
}

func hasExtension(name string, extensions []string) bool {
	for _, extension := range extensions {
		if len(name) > len(extension) && strings.EqualFold(name[len(name)-len(extension):], extension) {
			return true
		}
	}
	return len(extensions) == 0
}
