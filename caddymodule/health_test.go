package caddymodule

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

func TestAnOutageCostsOneWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zapcore.DebugLevel)
		logger := zap.New(core)
		h := newHealth()[useRateLimit]
		h.worked(logger)
		for range 3 { // flapping under load
			for range 100 {
				h.failed(logger, errors.New("refused"))
				h.worked(logger)
			}
			time.Sleep(time.Second)
		}
		if n := logs.FilterLevelExact(zapcore.WarnLevel).Len(); n != 1 || logs.Len() != 1 || !h.down() {
			t.Errorf("%d warnings and %d lines, down %v; want 1, 1, true", n, logs.Len(), h.down())
		}
		time.Sleep(recoveryTime)
		for range 10 {
			h.worked(logger)
		}
		if n := logs.FilterLevelExact(zapcore.InfoLevel).Len(); n != 1 || logs.Len() != 2 || h.down() {
			t.Errorf("%d lines say that it is over, of %d; down %v", n, logs.Len(), h.down())
		}
		h.failed(logger, errors.New("refused"))
		if n := logs.FilterLevelExact(zapcore.WarnLevel).Len(); n != 2 {
			t.Errorf("%d warnings after a second outage, want 2", n)
		}
	})
}
