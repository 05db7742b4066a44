package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Limits of icons. An address with the image in it may be longer than one that
// has to be fetched.
const (
	maxIcons     = 8
	maxIconURL   = 2048 // bytes
	maxIconData  = 8192 // bytes, for data: addresses
	maxIconSizes = 8
)

// compileIcons checks icons from the configuration and makes their JSON.
func compileIcons(icons []Icon) (rawjson.Value, error) {
	var src bytes.Buffer
	enc := json.NewEncoder(&src)
	enc.SetEscapeHTML(false) // an SVG in a data: address stays readable
	if err := enc.Encode(icons); err != nil {
		return nil, fmt.Errorf("icons: %w", err)
	}
	list := rawjson.Value(bytes.TrimSpace(src.Bytes()))
	return list, checkIcons(list, maxIcons)
}

// checkIcons checks an array of MCP icons: closed objects with an https or
// data:image address. (MCP schema, Icon.)
func checkIcons(icons rawjson.Value, most int) error {
	if icons.Kind() != rawjson.Array || icons.Len() > most {
		return fmt.Errorf("icons must be an array of at most %d", most)
	}
	for icon := range icons.Elements() {
		if err := checkIcon(icon); err != nil {
			return fmt.Errorf("icon: %w", err)
		}
	}
	return nil
}

func checkIcon(icon rawjson.Value) error {
	if err := closed(icon, "src", "mimeType", "sizes", "theme"); err != nil {
		return err
	}
	src, _ := icon.Get("src").Text()
	if err := checkImageAddress(src); err != nil {
		return err
	}
	if v := icon.Get("mimeType"); v.Exists() {
		if text, _ := v.Text(); !visibleText(text, 128) {
			return errors.New("mimeType must be text of at most 128 characters")
		}
	}
	if v := icon.Get("sizes"); v.Exists() {
		sizes, ok := texts(v)
		if !ok || len(sizes) > maxIconSizes {
			return fmt.Errorf("sizes must be an array of at most %d strings", maxIconSizes)
		}
		for _, size := range sizes {
			if !visibleText(size, 32) {
				return errors.New(`a size must be text such as "20x20" or "any"`)
			}
		}
	}
	if v := icon.Get("theme"); v.Exists() {
		if theme, _ := v.Text(); theme != "light" && theme != "dark" {
			return errors.New("theme must be light or dark")
		}
	}
	return nil
}

// checkImageAddress accepts what a host may show without asking: https without
// credentials, or an image inside the address.
func checkImageAddress(src string) error {
	if rest, ok := cutPrefixFold(src, "data:"); ok {
		_, isImage := cutPrefixFold(rest, "image/")
		if !isImage || !strings.Contains(rest, ",") || len(src) > maxIconData || !printable(src) {
			return fmt.Errorf("a data: address must hold an image and at most %d bytes", maxIconData)
		}
		return nil
	}
	u, err := url.Parse(src)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(src) > maxIconURL || !printable(src) {
		return fmt.Errorf("src must be an https address of at most %d bytes, or data:image", maxIconURL)
	}
	return nil
}

// reviewIcons advises on the icons of an entrypoint: ChatGPT draws them in the
// colour of the text, 20 by 20, and falls back to a generic one.
// (Apps SDK reference, tool descriptor, icons.)
func reviewIcons(icons rawjson.Value, name string, found *findings) {
	if !icons.Exists() {
		return
	}
	if err := checkIcons(icons, maxIcons); err != nil {
		found.add("icon-invalid", name, "an icon that hosts may refuse: "+err.Error(), "use https or data:image addresses and only the members of MCP")
		return
	}
	for icon := range icons.Elements() {
		mime, _ := icon.Get("mimeType").Text()
		src, _ := icon.Get("src").Text()
		svg := mime == "image/svg+xml" || strings.HasPrefix(src, "data:image/svg+xml") || strings.HasSuffix(src, ".svg")
		if !svg {
			found.add("icon-not-svg", name, "the icon is not an SVG, so it cannot take the colour of the text", "use a 20×20 SVG in currentColor")
		} else if text, ok := inlineSVG(src); ok && !strings.Contains(text, "currentColor") {
			found.add("icon-not-monochrome", name, "the icon does not use currentColor, so it may vanish in one of the themes", "draw it with currentColor")
		}
	}
}

// inlineSVG returns the image text of a data: address.
func inlineSVG(src string) (string, bool) {
	rest, ok := strings.CutPrefix(src, "data:image/svg+xml")
	if !ok {
		return "", false
	}
	parameters, data, _ := strings.Cut(rest, ",")
	if strings.HasSuffix(parameters, ";base64") {
		decoded, err := base64.StdEncoding.DecodeString(data)
		return string(decoded), err == nil
	}
	text, err := url.PathUnescape(data)
	return text, err == nil
}
