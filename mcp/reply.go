package mcp

import (
	"context"
	"fmt"
	"net/http"
)

// Refuse answers a request of a legacy server in the place of its client, so
// that the server does not wait for somebody who was never asked. The session
// is that of the given headers, which are the client's own. (MCP 2025-11-25,
// basic/transports "Sending Messages to the Server".)
func Refuse(ctx context.Context, ask Exchange, header http.Header, refusal *Error) error {
	answer, err := ask(ctx, http.MethodPost, askHeader(header, &Request{Era: Legacy}), refusal.Body(), nil)
	if err != nil {
		return err
	}
	if answer.Status/100 != 2 {
		return fmt.Errorf("the server answers %d", answer.Status)
	}
	return nil
}
