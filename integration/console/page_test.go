package console

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/browser"
)

var (
	light  = browser.View{Width: 1280, Height: 800}
	dark   = browser.View{Width: 1280, Height: 800, Dark: true}
	narrow = browser.View{Width: 360, Height: 780}
)

// page is the console in a tab, and what the browser has to complain about it.
type page struct {
	*browser.Page
	mu         sync.Mutex
	complaints []string
}

// visit opens an address and notes complaints: of the browser's policies, errors
// of scripts, dialogs, and requests to anywhere else.
func visit(t *testing.T, b *browser.Browser, address string) *page {
	t.Helper()
	p := &page{Page: b.Open(t, light)}
	go func() {
		for {
			select {
			case m := <-p.Events:
				p.note(m)
			case <-b.Done():
				return
			}
		}
	}()
	p.Must("Runtime.enable", nil, nil)
	p.Must("Network.enable", nil, nil)
	p.Must("Page.navigate", map[string]any{"url": address}, nil)
	return p
}

// enter opens the console by its link.
func enter(t *testing.T, b *browser.Browser, c *command) *page {
	t.Helper()
	p := visit(t, b, c.url)
	p.wait(`document.querySelector("#connection")?.dataset.state === "open" && document.querySelector("#endpoints input")`)
	return p
}

func (p *page) note(m browser.Message) {
	var e struct {
		Entry            struct{ Source, Text, URL string }
		ExceptionDetails json.RawMessage
		Message          string
		Request          struct{ URL string }
		Type             string
	}
	if json.Unmarshal(m.Params, &e) != nil {
		return
	}
	text := ""
	switch m.Method {
	case "Log.entryAdded":
		if e.Entry.Source != "network" {
			text = e.Entry.Text
		}
	case "Runtime.exceptionThrown":
		text = string(e.ExceptionDetails)
	case "Runtime.consoleAPICalled":
		text = "console." + e.Type
	case "Page.javascriptDialogOpening":
		text = "dialog: " + e.Message
	case "Network.requestWillBeSent":
		if !strings.HasPrefix(e.Request.URL, "http://127.0.0.1:") {
			text = "request to " + e.Request.URL
		}
	}
	if text != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.complaints = append(p.complaints, text)
	}
}

// quiet fails the test if there was a complaint.
func (p *page) quiet() {
	p.T.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range p.complaints {
		p.T.Errorf("the browser: %s", text)
	}
}

// wait waits until an expression is true.
func (p *page) wait(expression string) {
	p.T.Helper()
	for range 400 {
		// Between two documents there is nothing to ask.
		var result struct{ Result struct{ Value bool } }
		if p.Call("Runtime.evaluate", map[string]any{"expression": "Boolean(" + expression + ")", "returnByValue": true}, &result) == nil && result.Result.Value {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.T.Fatalf("never true: %s\n%.600s", expression, p.text("main"))
}

// text is what a reader sees of an element.
func (p *page) text(selector string) string {
	p.T.Helper()
	return browser.Eval[string](p.Page, `[...document.querySelectorAll(`+quote(selector)+`)].map(e => e.innerText).join("\n")`)
}

// says waits until a text is seen.
func (p *page) says(selector, text string) {
	p.T.Helper()
	p.wait(`[...document.querySelectorAll(` + quote(selector) + `)].some(e => e.innerText.includes(` + quote(text) + `))`)
}

// click clicks like a user: the element must be there to be seen.
func (p *page) click(selector string) {
	p.T.Helper()
	p.wait(`document.querySelector(` + quote(selector) + `)?.checkVisibility()`)
	browser.Eval[any](p.Page, `document.querySelector(`+quote(selector)+`).click()`)
}

// fill replaces the text of a field, as typing or pasting does.
func (p *page) fill(selector, text string) {
	p.T.Helper()
	browser.Eval[any](p.Page, `(() => { const e = document.querySelector(`+quote(selector)+`); e.focus(); e.select(); })()`)
	if text == "" {
		browser.Eval[any](p.Page, `(() => { const e = document.querySelector(`+quote(selector)+`); e.value = ""; e.dispatchEvent(new Event("input", {bubbles: true})); })()`)
		return
	}
	p.Must("Input.insertText", map[string]any{"text": text}, nil)
}

// choose picks a radio button.
func (p *page) choose(name, value string) {
	p.T.Helper()
	browser.Eval[any](p.Page, `document.querySelector(`+quote(`input[name=`+name+`][value=`+value+`]`)+`).click()`)
}

// endpoint chooses an endpoint by its path.
func (p *page) endpoint(path string) {
	p.T.Helper()
	browser.Eval[any](p.Page, `[...document.querySelectorAll("#endpoints label")].find(e => e.innerText.startsWith(`+quote(path)+`)).querySelector("input").click()`)
}

// check asks as the holder of a token, and waits for the outcome.
func (p *page) check(token string) {
	p.T.Helper()
	p.fill("#token", token)
	p.click("#check")
	p.says("#progress", "Checked")
}

// shown are the names of the rows that are seen.
func (p *page) shown() []string {
	p.T.Helper()
	return browser.Eval[[]string](p.Page, `[...document.querySelectorAll("#catalog .row")].filter(e => e.checkVisibility()).map(e => e.dataset.name)`)
}

// row is the selector of a row by its name.
func row(name string) string { return `#catalog .row[data-name="` + name + `"]` }

// shoot takes pictures in the light, in the dark and on a narrow screen, and
// looks for what sticks out and what cannot be read.
func (p *page) shoot(name string) {
	p.T.Helper()
	for suffix, v := range map[string]browser.View{"light": light, "dark": dark, "narrow": narrow} {
		p.See(v)
		p.Screenshot(name + "-" + suffix)
		if ground := browser.Eval[string](p.Page, "getComputedStyle(document.body).backgroundColor"); (ground == "rgb(19, 20, 21)") != v.Dark {
			p.T.Errorf("%s, %s: the ground is %s", name, suffix, ground)
		}
		if wide := p.Sideways(); wide > 0 {
			p.T.Errorf("%s, %s: %d pixels stick out sideways", name, suffix, wide)
		}
		if contrast := p.LowestContrast(); contrast < 4.5 {
			p.T.Errorf("%s, %s: contrast %.2f", name, suffix, contrast)
		}
	}
	p.See(light)
}

func quote(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted)
}
