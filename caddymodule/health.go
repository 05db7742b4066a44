package caddymodule

import (
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// What an endpoint needs of others while it serves, as label values. Keys of
// issuers and revocations keep account of themselves.
const (
	useRateLimit    = "rate_limit"
	useRegistration = "registration"
	useRevocation   = "revocation"
	useSealKey      = "seal_key"
)

// recoveryTime is how long uses must go well before a fault counts as over: a
// store that fails every other time is one fault, not thousands.
const recoveryTime = 5 * time.Second

// health follows one use of shared state or storage, so that an outage under
// load costs one warning and one line when it is over.
type health struct {
	use, fault string // what is logged
	level      zapcore.Level

	mu       sync.Mutex
	isDown   bool
	failedAt time.Time
}

// newHealth makes those of an endpoint.
func newHealth() map[string]*health {
	return map[string]*health{
		useRateLimit:    {use: useRateLimit, fault: "shared rate limits cannot be counted", level: zapcore.WarnLevel},
		useRegistration: {use: useRegistration, fault: "registrations cannot be asked for", level: zapcore.ErrorLevel},
		useSealKey:      {use: useSealKey, fault: "cannot seal session ids", level: zapcore.ErrorLevel},
	}
}

// failed notes a use that failed, and logs the first one.
func (h *health) failed(logger *zap.Logger, err error) {
	metrics.stateErrors.with([1]string{h.use}).Inc()
	h.mu.Lock()
	first := !h.isDown
	h.isDown, h.failedAt = true, time.Now()
	h.mu.Unlock()
	if first {
		logger.Log(h.level, h.fault, zap.String("use", h.use), zap.Error(err))
	}
}

// worked notes a use that succeeded.
func (h *health) worked(logger *zap.Logger) {
	h.mu.Lock()
	over := h.isDown && time.Since(h.failedAt) >= recoveryTime
	if over {
		h.isDown = false
	}
	h.mu.Unlock()
	if over {
		logger.Info("shared state works again", zap.String("use", h.use))
	}
}

func (h *health) down() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.isDown
}
