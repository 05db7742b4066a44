package caddymodule

import (
	"strings"
	"testing"
)

// TestAListenerThatIsSlowStopsNobody: publishing does not wait, and what was
// missed is counted.
func TestAListenerThatIsSlowStopsNobody(t *testing.T) {
	h := newEventHub(2)
	if h.heard() {
		t.Fatal("heard without listeners")
	}
	slow, leave, err := h.listen("")
	if err != nil {
		t.Fatal(err)
	}
	other, leaveOther, err := h.listen("/other")
	if err != nil || !h.heard() {
		t.Fatal(err, h.heard())
	}
	if _, _, err := h.listen(""); err == nil {
		t.Error("more listeners than the bound")
	}
	for range listenerBuffer + 7 {
		h.publish(auditRecord{Endpoint: "/mcp", Decision: "hide", Reason: "a\nb"})
	}
	if dropped := slow.dropped.Load(); dropped != 7 || len(slow.records) != listenerBuffer {
		t.Errorf("%d dropped, %d kept", dropped, len(slow.records))
	}
	if len(other.records) != 0 || other.dropped.Load() != 0 {
		t.Error("a listener gets records of another endpoint")
	}
	if text := string(<-slow.records); strings.Contains(text, "\n") || !strings.Contains(text, `"decision":"hide"`) {
		t.Errorf("%q is not one line", text)
	}
	leave()
	leave() // once only
	leaveOther()
	if h.heard() {
		t.Error("heard after all have left")
	}
	if _, leave, err := h.listen(""); err != nil {
		t.Errorf("no place after leaving: %v", err)
	} else {
		leave()
	}
}
