package browser

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"
)

// View is how a page is seen.
type View struct {
	Width, Height int
	Dark          bool
}

// Page is one tab with a profile of its own. Its events must be received.
type Page struct {
	*Browser
	T      *testing.T
	Events chan Message

	session string
}

// Open makes an empty tab.
func (b *Browser) Open(t *testing.T, v View) *Page {
	t.Helper()
	p := &Page{Browser: b, T: t, Events: make(chan Message, 256)}
	var context struct{ BrowserContextID string }
	p.Must("Target.createBrowserContext", nil, &context)
	var target struct{ TargetID string }
	p.Must("Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": context.BrowserContextID}, &target)
	var attached struct{ SessionID string }
	p.Must("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p.session = attached.SessionID
	b.mu.Lock()
	b.pages[p.session] = p.Events
	b.mu.Unlock()
	p.See(v)
	p.Must("Page.enable", nil, nil)
	p.Must("Log.enable", nil, nil)
	return p
}

// See changes how the page is seen.
func (p *Page) See(v View) {
	p.T.Helper()
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	p.Must("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	p.Must("Emulation.setDeviceMetricsOverride", map[string]any{"width": v.Width, "height": v.Height, "deviceScaleFactor": 2, "mobile": false}, nil)
}

// Call sends a command of the protocol and decodes its answer.
func (p *Page) Call(method string, params, result any) error {
	return p.call(p.session, method, params, result)
}

// Must is Call, whose failure ends the test.
func (p *Page) Must(method string, params, result any) {
	p.T.Helper()
	if err := p.Call(method, params, result); err != nil {
		p.T.Fatal(err)
	}
}

// Eval asks the page something, and waits for promises; the debugger may where
// the page's own scripts may not.
func Eval[T any](p *Page, expression string) T {
	p.T.Helper()
	var result struct {
		Result           struct{ Value T }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	p.Must("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &result)
	if e := result.ExceptionDetails; e != nil {
		p.T.Fatalf("%s: %s %s", expression, e.Text, e.Exception.Description)
	}
	return result.Result.Value
}

// keys are the codes of the keys that tests press.
var keys = map[string]int{"Tab": 9, "Enter": 13, " ": 32, "ArrowRight": 39, "ArrowLeft": 37, "ArrowDown": 40}

// Press presses a key.
func (p *Page) Press(key string) {
	p.T.Helper()
	text := map[string]string{"Enter": "\r", " ": " "}[key]
	kind := "rawKeyDown"
	if text != "" {
		kind = "keyDown"
	}
	p.Must("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "code": key, "text": text, "windowsVirtualKeyCode": keys[key]}, nil)
	p.Must("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": keys[key]}, nil)
}

// Screenshot writes the whole page to a file that go test -artifacts keeps.
func (p *Page) Screenshot(name string) {
	p.T.Helper()
	var shot struct{ Data string }
	p.Must("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &shot)
	image, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		p.T.Fatal(err)
	}
	file := filepath.Join(p.T.ArtifactDir(), name+".png")
	if err := os.WriteFile(file, image, 0o600); err != nil {
		p.T.Fatal(err)
	}
	p.T.Logf("screenshot: %s", file)
}

// LowestContrast is the lowest contrast of a text to its background (WCAG 2.2,
// "contrast ratio"). Text of controls that are disabled need not have any.
func (p *Page) LowestContrast() float64 {
	p.T.Helper()
	return Eval[float64](p, `(() => {
	const channel = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
	const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
	const numbers = color => color.match(/[\d.]+/g).map(Number);
	const ground = e => {
		for (; e; e = e.parentElement) {
			const color = numbers(getComputedStyle(e).backgroundColor);
			if (color.length < 4 || color[3] > 0) return color;
		}
		return [255, 255, 255];
	};
	return Math.min(...[...document.querySelectorAll("body *")].filter(e => e.innerText && !e.matches("noscript, :disabled")).map(e => {
		const [a, b] = [light(numbers(getComputedStyle(e).color)), light(ground(e))].sort((a, b) => b - a);
		return (a + 0.05) / (b + 0.05);
	}));
})()`)
}

// Sideways is how many pixels stick out of the page on its right.
func (p *Page) Sideways() int {
	p.T.Helper()
	return Eval[int](p, "document.documentElement.scrollWidth - document.documentElement.clientWidth")
}
