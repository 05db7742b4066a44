package discovery

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
)

// maxProbeBytes bounds the answer to a probe.
const maxProbeBytes = 1 << 20

// Probe sends one HTTP request of any method to a target, for questions beside
// discovery (documents, preflights, other transports), with the same bounds and
// the same evidence. Of an event stream only what comes first is read. Every
// status is an answer; the error is an [*Error]. own holds headers of the
// protocol, such as Accept, which a target cannot have.
func (e *Engine) Probe(ctx context.Context, t Target, method string, own http.Header, body []byte) (Step, []byte, error) {
	step := Step{Method: method}
	if err := t.Check(); err != nil {
		return step, nil, err
	}
	ctx, d, end := e.begin(ctx, t)
	defer end()
	d.asking = method
	started := time.Now()
	answer, err := d.probeOnce(ctx, &step, own, body)
	step.Total, step.Bytes = time.Since(started), len(answer)
	if err != nil {
		failure := d.classify(ctx, err)
		step.Failure = failure.Class
		return step, answer, failure
	}
	return step, answer, nil
}

func (d *discovery) probeOnce(ctx context.Context, step *Step, own http.Header, body []byte) ([]byte, error) {
	header := d.target.header()
	for name, values := range own {
		header[name] = values
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	response, err := d.request(ctx, step, header, body)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if step.Stream {
		first := make([]byte, 4<<10)
		n, err := response.Body.Read(first)
		if n == 0 && err != nil && ctx.Err() != nil {
			return nil, fmt.Errorf("reading the stream: %w", err)
		}
		return first[:n], nil // a stream that ends at once is an answer as well
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxProbeBytes+1))
	if err != nil {
		return answer, fmt.Errorf("reading the answer: %w", err)
	}
	if len(answer) > maxProbeBytes {
		return answer[:maxProbeBytes], fmt.Errorf("%w: more than %d MiB", mcp.ErrTooLarge, maxProbeBytes>>20)
	}
	return answer, nil
}
