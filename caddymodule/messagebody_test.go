package caddymodule

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// A body is read whole whatever was announced, and one that was announced
// rightly takes no more memory than it has bytes.
func TestABodyIsReadWhole(t *testing.T) {
	for _, size := range []int{0, 1, 511, 512, 513, maxTrustedLength - 1, maxTrustedLength, maxTrustedLength + 1, 1_000_003} {
		want := bytes.Repeat([]byte("abcdefg"), size/7+1)[:size]
		for _, announced := range []int64{-1, 0, 1, int64(size) - 1, int64(size), int64(size) + 1, 1 << 40} {
			for name, r := range map[string]io.Reader{
				"at once": bytes.NewReader(want), "halves": iotest.HalfReader(bytes.NewReader(want)), "end with data": iotest.DataErrReader(bytes.NewReader(want)),
			} {
				got, err := readBody(r, announced)
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes, %d announced, %s: got %d bytes, %v", size, announced, name, len(got), err)
				}
			}
		}
	}
	if _, err := readBody(iotest.TimeoutReader(bytes.NewReader(make([]byte, 1000))), 2000); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("got %v, want the error of the reader", err)
	}
}
