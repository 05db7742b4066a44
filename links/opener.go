package links

import (
	"strings"
)

// OpenRequest is what the opener is asked for.
type OpenRequest struct {
	Tool     string
	Path     AppURL
	Platform Platform // zero if the request names none
}

// maxOpen holds every valid request; see maxLink.
const maxOpen = maxLink

// ParseOpenRequest reads "<tool>?path=<path>&platform=<word>", the raw request
// target after the opener's own prefix and slash, by the rules of
// [ParseAppLink]: the tool is one encoded segment, both keys are optional, no
// other key is taken. Anyone can write such a request, so nothing here says
// whether the tool exists. The offset of an [*Error] counts within s.
func ParseOpenRequest(s string) (OpenRequest, error) {
	r, fault := parseOpenRequest(s)
	if fault != nil {
		return OpenRequest{}, fault
	}

	return r, nil
}

// Opener turns a tool and a page into the link that lands on a platform. Its
// answers depend on nothing but its fields and arguments, so they can be given
// to people who are not signed in.
type Opener struct {
	// PluginID and Marketplace are those of [AppLink].
	PluginID    string
	Marketplace string

	// Fallback is the ordinary application; zero means that there is none.
	Fallback Fallback
}

// Choice is one way to open a page.
type Choice struct {
	Platform Platform
	URL      string
}

// Link returns the link for one platform, and [ErrNoLink] if there is none. A
// plugin of a custom marketplace has no web link; its fallback takes that place.
func (o Opener) Link(p Platform, tool string, path AppURL) (string, error) {
	switch {
	case p == "":
		return "", ErrNoLink
	case p == App, p == Web && o.Marketplace != "":
		return o.Fallback.Join(path)
	}

	return AppLink{
		PluginID: o.PluginID, Marketplace: o.Marketplace,
		Tool: tool, Path: path, Platform: p,
	}.Build()
}

// Choices returns every link there is, in the order desktop, mobile, web,
// ordinary application. They are safe as href values once HTML-escaped.
func (o Opener) Choices(tool string, path AppURL) ([]Choice, error) {
	platforms := []Platform{Desktop, Mobile}
	if o.Marketplace == "" {
		platforms = append(platforms, Web)
	}

	if !o.Fallback.IsZero() {
		platforms = append(platforms, App)
	}

	choices := make([]Choice, 0, len(platforms))

	for _, p := range platforms {
		link, err := o.Link(p, tool, path)
		if err != nil {
			return nil, err
		}

		choices = append(choices, Choice{p, link})
	}

	return choices, nil
}

func parseOpenRequest(s string) (r OpenRequest, fault *Error) {
	if len(s) > maxOpen {
		return r, &Error{"link", maxOpen, "is too long"}
	}

	rawTool, query, _ := strings.Cut(s, "?")
	if r.Tool, fault = parseName("tool", rawTool, maxName, 0); fault != nil {
		return r, fault
	}

	r.Path = "/"
	if query == "" {
		return r, nil
	}

	values, fault := parseQuery(query, len(rawTool)+1, "path", "platform")
	if fault != nil {
		return r, fault
	}

	if r.Path, fault = values[0].appURL(); fault != nil {
		return r, fault
	}

	if word := values[1]; word.present {
		var err error
		if r.Platform, err = ParsePlatform(word.raw); err != nil {
			return r, &Error{"platform", word.at, "is not one of desktop, mobile, web, app"}
		}
	}

	return r, nil
}
