package mcp

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func sealer(t testing.TB, keys ...byte) *Sealer {
	t.Helper()
	var list [][]byte
	for _, k := range keys {
		list = append(list, bytes.Repeat([]byte{k}, SealKeySize))
	}
	s, err := NewSealer(list...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSealedTextWorksForItsHolderAndPurposeOnly(t *testing.T) {
	s, alice, bob := sealer(t, 1), Holder{1}, Holder{2}
	sealed := s.Seal(PurposeSession, alice, "upstream-id")
	if got, err := s.Unseal(PurposeSession, alice, sealed); err != nil || got != "upstream-id" {
		t.Errorf("own text: %q, %v", got, err)
	}
	refused := map[string]func() (string, error){
		"another holder":  func() (string, error) { return s.Unseal(PurposeSession, bob, sealed) },
		"another purpose": func() (string, error) { return s.Unseal(PurposeCursor, alice, sealed) },
		"another key":     func() (string, error) { return sealer(t, 2).Unseal(PurposeSession, alice, sealed) },
		"the raw id":      func() (string, error) { return s.Unseal(PurposeSession, alice, "upstream-id") },
		"nothing":         func() (string, error) { return s.Unseal(PurposeSession, alice, "") },
		"cut":             func() (string, error) { return s.Unseal(PurposeSession, alice, sealed[:20]) },
		"padded":          func() (string, error) { return s.Unseal(PurposeSession, alice, sealed+"=") },
	}
	for name, open := range refused {
		if got, err := open(); !errors.Is(err, ErrUnsealed) || got != "" {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if strings.Contains(sealed, "upstream") {
		t.Errorf("the text shows what is in it: %s", sealed)
	}
}

func TestRotatedKeysOpenOldText(t *testing.T) {
	old := sealer(t, 1).Seal(PurposeCursor, Holder{}, "x")
	rotated := sealer(t, 2, 1)
	if got, err := rotated.Unseal(PurposeCursor, Holder{}, old); err != nil || got != "x" {
		t.Errorf("old text: %q, %v", got, err)
	}
	if _, err := sealer(t, 1).Unseal(PurposeCursor, Holder{}, rotated.Seal(PurposeCursor, Holder{}, "x")); err == nil {
		t.Error("new text was sealed with the old key")
	}
}

func TestSealingKeysMustHaveTheRightSize(t *testing.T) {
	if _, err := NewSealer([]byte("short")); err == nil {
		t.Error("short key accepted")
	}
	if _, err := NewSealer(); err == nil {
		t.Error("no key accepted")
	}
}

// FuzzUnseal proves that nothing but sealed text opens, and that text survives.
func FuzzUnseal(f *testing.F) {
	s := sealer(f, 1)
	f.Add("", "session")
	f.Add(s.Seal(PurposeSession, Holder{9}, "foreign"), "x")
	f.Fuzz(func(t *testing.T, guess, text string) {
		if got, err := s.Unseal(PurposeSession, Holder{1}, guess); err == nil {
			t.Fatalf("guess %q opened as %q", guess, got)
		}
		sealed := s.Seal(PurposeSession, Holder{1}, text)
		if got, err := s.Unseal(PurposeSession, Holder{1}, sealed); err != nil || got != text {
			t.Fatalf("%q came back as %q, %v", text, got, err)
		}
		if strings.Trim(sealed, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Fatalf("sealed text %q would have to be escaped", sealed)
		}
	})
}
