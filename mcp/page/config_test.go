package page

import (
	"strings"
	"testing"
)

func TestCompileNamesEveryMistake(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]Page{
		"begin with ui://":  {URI: "https://workspace/home"},
		"as resources/list": {URI: "ui://"},
		"no tool name":      {URI: "ui://a", Navigate: "open it"},
		"write event":       {URI: "ui://a", Route: "path"},
		"write auto":        {URI: "ui://a", Handshake: "yes"},
		"one line":          {URI: "ui://a", Notice: "a\nb"},
		"visible text":      {URI: "ui://a", Notice: strings.Repeat("x", 513)},
		"each once":         {URI: "ui://a", DisplayModes: []string{"inline", "inline"}},
		"unknown or there":  {URI: "ui://a", DisplayModes: []string{"full"}},
		"leave one of":      {URI: "ui://a", DisplayModes: []string{"inline"}, Handshake: "never"},
		"at most 16":        {URI: "ui://a", Hosts: make([]string, 17)},
		"no use for":        {URI: "ui://a", Off: true, Notice: "No."},
		"is no origin":      {URI: "ui://a", Hosts: []string{"https://host.example/"}},
	} {
		if _, err := Compile(Config{Pages: []Page{p}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error = %v, want %q", p, err, want)
		}
	}
	_, err := Compile(Config{Pages: []Page{{URI: "ui://a", Route: "x", Handshake: "y"}, {URI: "ui://a"}, {URI: "b"}}})
	for _, want := range []string{"route", "handshake", "page ui://a: declared twice", "page b:"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q among it", err, want)
		}
	}
	if in, err := Compile(Config{}); err != nil || in == nil {
		t.Errorf("the empty configuration gives %v, %v", in, err)
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"https://chatgpt.com": true, "https://chatgpt.com:8443": true, "http://localhost:3000": true, "http://127.0.0.1:1": true,
		"http://[::1]:8080": true, "http://a.localhost": true,
		"http://chatgpt.com": false, "https://ChatGPT.com": false, "https://chatgpt.com:443": false, "https://chatgpt.com/": false,
		"https://u@chatgpt.com": false, "https://*.chatgpt.com": false, "https://": false, "null": false, "*": false, "": false,
		"chatgpt.com": false, "https://a?b": false, "https://a#b": false, "https://a\\b": false, "wss://a": false,
	} {
		if got := isOrigin(s); got != want {
			t.Errorf("isOrigin(%q) = %t, want %t", s, got, want)
		}
	}
}
