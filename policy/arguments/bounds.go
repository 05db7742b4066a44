package arguments

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds limits the arguments of tool calls whatever their schema says.
type Bounds struct {
	// MaxBytes is the largest size of the arguments as they arrive. Default:
	// as much as a request may hold.
	MaxBytes int `json:"max_bytes,omitempty"`
	// MaxDepth is how deep objects and arrays may be nested; flat arguments have
	// depth 1. Default: as deep as a request may be.
	MaxDepth int `json:"max_depth,omitempty"`
}

// Check refuses bounds that mean nothing.
func (b Bounds) Check() error {
	if b.MaxBytes < 0 || b.MaxDepth < 0 {
		return errors.New("arguments: a bound is below zero")
	}
	if b == (Bounds{}) {
		return errors.New("arguments: write max_bytes or max_depth")
	}
	return nil
}

// Admit returns why arguments are beyond the bounds, in a text for the caller.
func (b Bounds) Admit(arguments []byte) error {
	if b.MaxBytes > 0 && len(arguments) > b.MaxBytes {
		return fmt.Errorf("the arguments are larger than %d bytes", b.MaxBytes)
	}
	if b.MaxDepth == 0 {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(arguments))
	for dec.PeekKind() != 0 {
		if _, err := dec.ReadToken(); err != nil {
			break
		}
		if dec.StackDepth() > b.MaxDepth {
			return fmt.Errorf("the arguments are nested deeper than %d levels", b.MaxDepth)
		}
	}
	return nil
}
