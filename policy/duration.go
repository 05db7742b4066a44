package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Duration is a time.Duration that a configuration writes as text, such as
// "1m30s" or "7d", or as a number of nanoseconds.
type Duration time.Duration

// ParseDuration reads what [time.ParseDuration] reads, and days as well.
func ParseDuration(text string) (Duration, error) {
	var bad error
	hours := days.ReplaceAllStringFunc(text, func(part string) string {
		n, err := strconv.ParseFloat(part[:len(part)-1], 64)
		if err != nil {
			bad = err
		}
		return strconv.FormatFloat(24*n, 'f', -1, 64) + "h"
	})
	d, err := time.ParseDuration(hours)
	if err := errors.Join(bad, err); err != nil {
		return 0, fmt.Errorf("duration %q: write a number with a unit, such as 30s", text)
	}
	return Duration(d), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	var nanoseconds int64
	if json.Unmarshal(raw, &nanoseconds) == nil {
		*d = Duration(nanoseconds)
		return nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return errors.New("a duration is a text such as \"30s\", or a number of nanoseconds")
	}
	parsed, err := ParseDuration(text)
	*d = parsed
	return err
}

// MarshalJSON implements json.Marshaler.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

var days = regexp.MustCompile(`\d+(\.\d+)?d`)
