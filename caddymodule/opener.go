package caddymodule

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/links"
)

// opener answers GET <open>/<tool>?path=<page>[&platform=<word>], a link that
// anybody can paste into mail or chat: it leads on to the page in ChatGPT on the
// reader's platform, or in the ordinary application.
//
// It answers before anybody has signed in. Its answers follow from the
// configuration and the request alone: whether a page exists, and who may see
// it, is found out where the link lands. It leads nowhere but to this plugin and
// to the configured application.
type opener struct {
	prefix    string            // path and slash
	titles    map[string]string // by name of the tools that can be opened
	plugin    string
	pages     links.TenantPath
	tenant    func(r *http.Request) (string, bool)
	perTenant bool                    // whether ways are told apart by tenant
	ways      map[string]links.Opener // by tenant, or under the empty name
}

// serves reports whether a URL is the opener's. It may be asked of no opener.
func (o *opener) serves(u *url.URL) bool {
	return o != nil && strings.HasPrefix(u.EscapedPath(), o.prefix)
}

// ServeHTTP leads on to one link, or shows the choice.
func (o *opener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		writeOpenerPage(w, http.StatusMethodNotAllowed, openerPage{Heading: "This address is a link", Text: []string{"It can only be opened, not written to."}})
		return
	}
	tenant, way, served := o.route(r)
	if !served {
		writeOpenerPage(w, http.StatusNotFound, openerPage{Heading: "This link leads nowhere", Text: []string{"Nothing is served under this host name.", askForAnother}})
		return
	}
	request, err := links.ParseOpenRequest(target(r.URL, o.prefix))
	if err != nil {
		writeOpenerPage(w, http.StatusBadRequest, o.faultPage(err, way.Fallback))
		return
	}
	_, known := o.titles[request.Tool]
	switch {
	case !known:
		writeOpenerPage(w, http.StatusNotFound, missingPage("The tool it names cannot be opened.", way.Fallback))
		return
	case !o.mayLead(request.Path, tenant):
		writeOpenerPage(w, http.StatusNotFound, missingPage("The page it names is outside this part of the application.", way.Fallback))
		return
	}
	o.lead(w, r, request, way)
}

// lead redirects where the platform is certain and has a link, and otherwise
// leaves the choice to the reader.
func (o *opener) lead(w http.ResponseWriter, r *http.Request, request links.OpenRequest, way links.Opener) {
	// A word has been checked with the rest of the request.
	platform, _ := links.ChoosePlatform(string(request.Platform), links.Hints{
		UserAgent: r.UserAgent(),
		Platform:  r.Header.Get("Sec-CH-UA-Platform"),
	})
	choices, err := way.Choices(request.Tool, request.Path)
	if err != nil {
		writeOpenerPage(w, http.StatusBadRequest, o.faultPage(err, way.Fallback))
		return
	}
	page := o.choicePage(request.Tool, choices, way.Fallback)
	if link, err := way.Link(platform, request.Tool, request.Path); err == nil {
		w.Header().Set("Location", link)
		writeOpenerPage(w, http.StatusFound, page)
		return
	}
	if request.Platform != "" {
		page.Text = append([]string{"There is no link for the platform that was asked for."}, page.Text...)
		writeOpenerPage(w, http.StatusNotFound, page)
		return
	}
	writeOpenerPage(w, http.StatusOK, page)
}

// route returns the tenant a request's route stands for and the links of it.
func (o *opener) route(r *http.Request) (tenant string, way links.Opener, served bool) {
	served = true
	if o.tenant != nil {
		tenant, served = o.tenant(r)
	}
	key := ""
	if o.perTenant {
		key = tenant
	}
	way, found := o.ways[key]
	return tenant, way, served && found
}

// mayLead holds the page to those of the tenant, where the route names one. The
// start page belongs to everybody.
func (o *opener) mayLead(page links.AppURL, tenant string) bool {
	return page == "/" || tenant == "" && o.pages.Bound() || o.pages.Allows(page, tenant)
}

// target is what follows the prefix in a request, as it was written.
func target(u *url.URL, prefix string) string {
	rest := strings.TrimPrefix(u.EscapedPath(), prefix)
	if u.RawQuery != "" {
		rest += "?" + u.RawQuery
	}
	return rest
}
