package openai

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// previewTool is the type of a preview that opens a tool's page.
const previewTool = "mcp_app_tool"

// resourceInput is a field in which the user picks resources.
// (Extensions, Resource Selection.)
type resourceInput struct {
	offered  []string
	implicit bool // every offered resource is chosen until it is taken away
	open     bool // the user may add others
}

// resourceInput checks an x-openai-input.
func (l Limits) resourceInput(v rawjson.Value, list bool) (*resourceInput, error) {
	if err := closed(v, "type", "selection", "options", "userOptions"); err != nil {
		return nil, err
	}
	if kind, _ := v.Get("type").Text(); kind != "resource" && kind != "file" { // file is the older word for it
		return nil, errors.New(`type must be "resource"`)
	}
	in := &resourceInput{}
	if selection := v.Get("selection"); selection.Exists() {
		text, _ := selection.Text()
		if !list {
			return nil, errors.New("selection belongs to arrays only")
		}
		if text != "explicit" && text != "implicit" {
			return nil, errors.New("selection must be explicit or implicit")
		}
		in.implicit = text == "implicit"
	}
	options := v.Get("options")
	if options.Kind() != rawjson.Array || options.Len() > maxFormOptions {
		return nil, fmt.Errorf("options must be an array of at most %d resources", maxFormOptions)
	}
	for option := range options.Elements() {
		if err := l.checkResourceOption(option); err != nil {
			return nil, fmt.Errorf("option: %w", err)
		}
		uri, _ := option.Get("uri").Text()
		in.offered = append(in.offered, uri)
	}
	user := v.Get("userOptions")
	in.open = in.implicit || user.Exists()
	if user.Exists() {
		return in, checkUserOptions(user)
	}
	return in, nil
}

func (l Limits) checkResourceOption(option rawjson.Value) error {
	if err := l.checkLink(option); err != nil {
		return err
	}
	if thumbnail := option.Get("_meta", "openai/thumbnail"); thumbnail.Exists() {
		if err := checkThumbnail(thumbnail); err != nil {
			return fmt.Errorf("thumbnail: %w", err)
		}
	}
	preview := option.Get("_meta", "openai/preview")
	if !preview.Exists() {
		return nil
	}
	if err := closed(preview, "target"); err != nil {
		return fmt.Errorf("preview: %w", err)
	}
	target := preview.Get("target")
	if kind, _ := target.Get("type").Text(); kind == "resource_link" {
		if err := l.checkLink(target); err != nil {
			return fmt.Errorf("preview target: %w", err)
		}
		return nil
	} else if kind != previewTool {
		return fmt.Errorf("preview target: type must be %q or \"resource_link\"", previewTool)
	}
	if err := closed(target, "type", "name", "arguments"); err != nil {
		return fmt.Errorf("preview target: %w", err)
	}
	if name, _ := target.Get("name").Text(); !visibleText(name, maxToolName) {
		return errors.New("preview target: name must name a tool")
	}
	if arguments := target.Get("arguments"); arguments.Exists() && arguments.Kind() != rawjson.Object {
		return errors.New("preview target: arguments must be an object")
	}
	return nil
}

// checkUserOptions checks what the user may add.
func checkUserOptions(v rawjson.Value) error {
	if err := closed(v, "kind", "accept"); err != nil {
		return fmt.Errorf("userOptions: %w", err)
	}
	if kind := v.Get("kind"); kind.Exists() {
		if text, _ := kind.Text(); text != "file" && text != "directory" {
			return errors.New("userOptions: kind must be file or directory")
		}
	}
	if accept := v.Get("accept"); accept.Exists() {
		list, ok := texts(accept)
		if !ok || len(list) > maxFormOptions {
			return fmt.Errorf("userOptions: accept must be an array of at most %d strings", maxFormOptions)
		}
		for _, entry := range list {
			extension := strings.HasPrefix(entry, ".") && isExtension(entry[1:])
			major, minor, isType := strings.Cut(entry, "/")
			if !extension && (!isType || major == "" || minor == "" || !visibleText(entry, 128) || strings.ContainsAny(entry, " ,")) {
				return fmt.Errorf("userOptions: accept %q must be a file extension with its dot or a media type", clip(entry))
			}
		}
	}
	return nil
}

// checkThumbnail checks an icon that stands for an option: https, or an image
// in base64.
func checkThumbnail(v rawjson.Value) error {
	if err := checkIcon(v); err != nil {
		return err
	}
	src, _ := v.Get("src").Text()
	if rest, isData := cutPrefixFold(src, "data:"); isData {
		head, data, _ := strings.Cut(rest, ",")
		if !strings.HasSuffix(head, ";base64") {
			return errors.New("a data: address must be in base64")
		}
		if _, err := base64.StdEncoding.DecodeString(data); err != nil {
			return errors.New("a data: address must be in base64")
		}
	}
	return nil
}

// checkDefault checks the default of a resource field, which may only name what
// is offered.
func (in *resourceInput) checkDefault(v rawjson.Value) error {
	if in.implicit {
		return errors.New("implicit selection has no default: everything offered is chosen")
	}
	uris := []rawjson.Value{v}
	if v.Kind() == rawjson.Array {
		uris = slices.Collect(v.Elements())
	}
	for _, uri := range uris {
		if text, _ := uri.Text(); !slices.Contains(in.offered, text) {
			return fmt.Errorf("%q is not among the options", clip(text))
		}
	}
	return nil
}

// check checks one picked resource.
func (in *resourceInput) check(v rawjson.Value) error {
	text, _ := v.Text()
	if slices.Contains(in.offered, text) {
		return nil
	}
	if _, ok := uriScheme(text); in.open && ok {
		return nil
	}
	return errors.New("must be one of the offered resources")
}
