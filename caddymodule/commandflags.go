package caddymodule

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// The flags that several verbs share. A verb that speaks as somebody says
//
//	tokens := tokenFlags(cmd)        // --token-file, --token; MCP_APP_TOKEN without either
//	asJSON := jsonFlag(cmd)          // --json, in command.go
//
// when it is made, and in its run
//
//	bearer, err := tokens.read(cmd)  // an error is one of usage: usageError(cmd, "%v", err)
//
// bearer.Value is empty without a token; bearer.Given tells whether that was
// said (--token ""), in which case nothing else may stand in for it. No error and
// no warning repeats any part of a token.

// tokenEnv is the environment variable a token is taken from.
const tokenEnv = "MCP_APP_TOKEN" //nolint:gosec // the name of a variable, not a secret

// maxTokenFile bounds what is read of a token, in bytes: the longest token that
// is accepted anywhere, and a line end.
const maxTokenFile = 16<<10 + 2

// tokenSource holds the flags that say where a token comes from.
type tokenSource struct {
	file, value string
}

// bearer is a token of the command line.
type bearer struct {
	// Value is the token, empty for none.
	Value string
	// Given says that a flag or the environment spoke about the token, be it to
	// say that there is none.
	Given bool
}

// tokenFlags adds --token-file and --token.
func tokenFlags(cmd *cobra.Command) *tokenSource {
	var s tokenSource
	cmd.Flags().StringVar(&s.file, "token-file", "", "File with the access token; - is the standard input (default: the variable "+tokenEnv+")")
	cmd.Flags().StringVar(&s.value, "token", "", "Access token; other users of this machine can see it. Empty: none, whatever the environment says")
	return &s
}

// read returns the token, warning of one that other processes can see. A flag
// comes before the environment, also an empty one.
func (s *tokenSource) read(cmd *cobra.Command) (bearer, error) {
	flags := cmd.Flags()
	inline, file := flags.Changed("token"), flags.Changed("token-file")
	switch {
	case inline && file:
		return bearer{}, errors.New("--token and --token-file exclude each other")
	case inline:
		if s.value != "" {
			cmd.PrintErrln("Warning: other processes of this machine can see what stands behind --token; use --token-file or " + tokenEnv)
		}
		return checkedBearer(s.value, "--token")
	case file:
		text, err := readTokenFile(cmd.InOrStdin(), s.file)
		if err != nil {
			return bearer{}, err
		}
		if text == "" {
			return bearer{}, errors.New("--token-file: there is no token in it; for none at all write --token ''")
		}
		return checkedBearer(text, "--token-file")
	default:
		text, ok := os.LookupEnv(tokenEnv)
		if !ok {
			return bearer{}, nil
		}
		return checkedBearer(strings.TrimSpace(text), tokenEnv)
	}
}

// checkedBearer refuses what cannot stand in a header. Its text is not repeated.
func checkedBearer(text, source string) (bearer, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return bearer{}, fmt.Errorf("%s: blanks, control characters and letters beyond ASCII do not belong into a token", source)
	}
	return bearer{Value: text, Given: true}, nil
}

// readTokenFile reads a token.
func readTokenFile(stdin io.Reader, name string) (string, error) {
	text, err := readSmall(stdin, name, maxTokenFile)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// readSmall reads a file of at most limit bytes, or the standard input for "-".
func readSmall(stdin io.Reader, name string, limit int64) ([]byte, error) {
	in := stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("it is longer than %d bytes", limit)
	}
	return text, err
}
