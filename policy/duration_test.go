package policy

import (
	"encoding/json"
	"testing"
	"time"
)

func TestDurationsAreReadAsOperatorsWriteThem(t *testing.T) {
	tests := []struct {
		text string
		want time.Duration
		ok   bool
	}{
		{`"30s"`, 30 * time.Second, true},
		{`"1m30s"`, 90 * time.Second, true},
		{`"1.5d2h"`, 38 * time.Hour, true},
		{`1000000000`, time.Second, true},
		{`"30"`, 0, false},
		{`"d"`, 0, false},
		{`""`, 0, false},
		{`true`, 0, false},
		{`1.5`, 0, false},
	}
	for _, tt := range tests {
		var d Duration
		err := json.Unmarshal([]byte(tt.text), &d)
		if (err == nil) != tt.ok || tt.ok && time.Duration(d) != tt.want {
			t.Errorf("%s: got %v, %v", tt.text, time.Duration(d), err)
			continue
		}
		if !tt.ok {
			continue
		}
		written, err := json.Marshal(d)
		var again Duration
		if err != nil || json.Unmarshal(written, &again) != nil || again != d {
			t.Errorf("%s: written as %s, %v", tt.text, written, err)
		}
	}
}
