package page

import (
	"slices"
	"testing"
)

func TestReviewTellsWhatStopsTheClient(t *testing.T) {
	t.Parallel()
	const csp = `<head><meta http-equiv="content-security-policy" content="`
	for doc, want := range map[string][]string{
		"<head><title>t</title>":                                                    nil,
		csp + `script-src 'self' 'unsafe-inline'">`:                                 nil,
		csp + `default-src 'none'; script-src ` + Hash() + `">`:                     nil,
		csp + `img-src 'self'">`:                                                    nil,
		csp + `Default-Src 'none'">`:                                                {"page-csp"},
		csp + `default-src 'unsafe-inline'; script-src 'self'">`:                    {"page-csp"},
		csp + `script-src 'unsafe-inline'; script-src-elem 'self'">`:                {"page-csp"},
		csp + `script-src 'unsafe-inline' 'nonce-abc'">`:                            {"page-csp"},
		csp + `script-src 'unsafe-inline' 'sha256-AAAA'">`:                          {"page-csp"},
		csp + `script-src 'none'; script-src 'unsafe-inline'">`:                     {"page-csp"},
		csp + `script-src 'none'"><base href='https://a.example'>`:                  {"page-csp", "page-base"},
		"<head><base target=_blank>":                                                nil,
		"<head><base href='https://cdn.example/'>":                                  {"page-base"},
		"<head><script>'<base href=x>'</script>":                                    nil,
		"<head><meta name=mcp-app-page content=off>":                                {"page-client-own"},
		"<head>" + script("{}"):                                                     {"page-client-own"},
		"":                                                                          {"page-client-missing"},
		`<head><meta http-equiv="Content-Security-Policy-Report-Only" content="a">`: nil,
	} {
		var got []string
		for _, f := range injector(t, Page{Route: "history"}).Review(pageItem(t, doc)) {
			got = append(got, f.Code)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%.90q: findings %v, want %v", doc, got, want)
		}
	}
	if found := injector(t, Page{Route: "hash"}).Review(pageItem(t, "<base href='https://cdn.example/'>")); found != nil {
		t.Errorf("a base was reported for hash routes: %v", found)
	}
	if found := injector(t, Page{URI: "ui://other"}).Review(pageItem(t, "")); found != nil {
		t.Errorf("a page of no concern was reported: %v", found)
	}
	in := injector(t, Page{Route: "history"})
	item := pageItem(t, csp+`script-src 'none'"><base href='https://a.example'>`)
	injected, _ := in.Content(item)
	if string(injected) == string(item) || !slices.Equal(in.Review(injected), in.Review(item)) {
		t.Errorf("once it has the client, the page is judged otherwise: %v", in.Review(injected))
	}
}
