package token

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The tests of this file run on a fake clock, with an issuer in memory.

// onFakeClock runs test with a started holder.
func onFakeClock(t *testing.T, config KeyConfig, issuer *fakeIssuer, test func(t *testing.T, k *KeyHolder)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		config.JWKSURL = "https://id.example/keys"
		config.Transport = issuer
		k := must(NewKeyHolder(config))
		defer k.Close()
		k.Start()
		synctest.Wait()
		test(t, k)
	})
}

func goodIssuer(keys ...testKey) *fakeIssuer {
	return &fakeIssuer{status: http.StatusOK, body: jwks(keys...)}
}

func TestFirstFetchIsRetriedWithGrowingPauses(t *testing.T) {
	issuer := &fakeIssuer{status: http.StatusBadGateway}
	onFakeClock(t, KeyConfig{}, issuer, func(t *testing.T, k *KeyHolder) {
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		calls := issuer.times()
		for i, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30, 30} {
			want *= time.Second
			if got := calls[i+1].Sub(calls[i]); got < want*9/10 || got > want*11/10 {
				t.Errorf("pause %d is %s, want about %s", i, got, want)
			}
		}

		issuer.set(http.StatusOK, jwks(k1()))
		time.Sleep(33 * time.Second)
		synctest.Wait()
		if s := k.Stats(); s.State != Fresh {
			t.Fatalf("state %s after the issuer came back", s.State)
		}
	})
}

func TestRefreshFollowsCacheControlWithinBounds(t *testing.T) {
	for _, tc := range []struct {
		header http.Header
		want   time.Duration
	}{
		{http.Header{}, 10 * time.Minute},
		{http.Header{"Cache-Control": {"public, max-age=1200"}}, 20 * time.Minute},
		{http.Header{"Cache-Control": {"public", `max-age="1200"`}}, 20 * time.Minute},
		{http.Header{"Cache-Control": {"MAX-AGE=1800"}, "Age": {"600"}}, 20 * time.Minute},
		{http.Header{"Cache-Control": {"max-age=1"}}, 5 * time.Minute},
		{http.Header{"Cache-Control": {"max-age=1200, no-cache"}}, 5 * time.Minute},
		{http.Header{"Cache-Control": {"no-store"}}, 5 * time.Minute},
		{http.Header{"Cache-Control": {"max-age=86400"}}, time.Hour},
		{http.Header{"Cache-Control": {"max-age=99999999999999999999"}}, 10 * time.Minute},
		{http.Header{"Cache-Control": {"max-age=-5"}}, 10 * time.Minute},
		{http.Header{"Cache-Control": {"s-maxage=1200"}}, 10 * time.Minute},
	} {
		issuer := goodIssuer(k1())
		issuer.header = tc.header
		onFakeClock(t, KeyConfig{}, issuer, func(t *testing.T, k *KeyHolder) {
			time.Sleep(tc.want * 9 / 10 * 99 / 100)
			synctest.Wait()
			if n := issuer.count(); n != 1 {
				t.Errorf("%v: %d fetches too early", tc.header, n)
			}
			time.Sleep(tc.want * 22 / 100)
			synctest.Wait()
			if n := issuer.count(); n != 2 {
				t.Errorf("%v: %d fetches after %s, want 2", tc.header, n, tc.want)
			}
		})
	}
}

func TestUnchangedKeySetIsConfirmedByETag(t *testing.T) {
	issuer := goodIssuer(k1())
	issuer.header = http.Header{"Etag": {`"v1"`}}
	onFakeClock(t, KeyConfig{}, issuer, func(t *testing.T, k *KeyHolder) {
		before := k.Stats()
		issuer.set(http.StatusNotModified, nil)
		for range 3 {
			time.Sleep(11 * time.Minute)
			synctest.Wait()
		}
		after := k.Stats()
		if got := issuer.headers()[3].Get("If-None-Match"); got != `"v1"` {
			t.Errorf("If-None-Match is %q", got)
		}
		if after.Generation != before.Generation || after.State != Fresh || after.Age > 11*time.Minute || after.Failures != 0 {
			t.Errorf("before %+v, after %+v", before, after)
		}
	})
}

func TestNotModifiedWithoutAnETagIsAFailure(t *testing.T) {
	onFakeClock(t, KeyConfig{}, &fakeIssuer{status: http.StatusNotModified}, func(t *testing.T, k *KeyHolder) {
		if s := k.Stats(); s.State != Down {
			t.Fatalf("state %s", s.State)
		}
	})
}

// TestLastGoodKeysOutliveAnOutageUpToTheLimit also watches that the operator
// is told once per change, not once per attempt.
func TestLastGoodKeysOutliveAnOutageUpToTheLimit(t *testing.T) {
	issuer := goodIssuer(k1())
	onFakeClock(t, KeyConfig{MaxStale: 6 * time.Hour}, issuer, func(t *testing.T, k *KeyHolder) {
		var events []State
		remove := k.OnEvent(func(e Event) { events = append(events, e.State) })
		removed := 0
		k.OnEvent(func(Event) { removed++ })()

		issuer.set(http.StatusInternalServerError, nil)
		time.Sleep(5 * time.Hour)
		synctest.Wait()
		if _, _, err := k.find(t.Context(), "k1", RS256); err != nil {
			t.Fatalf("after 5 hours: %v", err)
		}
		if s := k.Stats(); s.State != Stale || s.Failures < 10 {
			t.Fatalf("stats %+v", s)
		}
		calls := issuer.times()
		if pause := calls[len(calls)-1].Sub(calls[len(calls)-2]); pause > 6*time.Minute {
			t.Fatalf("pause of %s between attempts", pause)
		}

		time.Sleep(time.Hour + time.Minute)
		synctest.Wait()
		_, _, err := k.find(t.Context(), "k1", RS256)
		wantKind(t, err, Unavailable)

		issuer.set(http.StatusOK, jwks(k1()))
		time.Sleep(time.Minute)
		synctest.Wait()
		if _, _, err := k.find(t.Context(), "k1", RS256); err != nil {
			t.Fatalf("after the outage: %v", err)
		}
		if want := []State{Stale, Down, Fresh}; !slices.Equal(events, want) {
			t.Fatalf("events %v, want %v", events, want)
		}

		remove()
		issuer.set(http.StatusOK, jwks(e1()))
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if len(events) != 3 || removed != 0 {
			t.Fatalf("events after removal: %v, %d", events, removed)
		}
	})
}

func TestStaleStateIsDownAsSoonAsKeysAreTooOld(t *testing.T) {
	issuer := goodIssuer(k1())
	onFakeClock(t, KeyConfig{MaxStale: 30 * time.Minute}, issuer, func(t *testing.T, k *KeyHolder) {
		issuer.set(http.StatusInternalServerError, nil)
		time.Sleep(30*time.Minute + time.Millisecond)
		if s := k.Stats(); s.State != Down {
			t.Fatalf("state %s", s.State)
		}
	})
}

func TestRotationIsAnEvent(t *testing.T) {
	issuer := goodIssuer(k1())
	onFakeClock(t, KeyConfig{}, issuer, func(t *testing.T, k *KeyHolder) {
		var events []Event
		k.OnEvent(func(e Event) { events = append(events, e) })
		before := k.Stats().Generation
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if len(events) != 0 {
			t.Fatalf("events without a change: %+v", events)
		}
		issuer.set(http.StatusOK, jwks(k1(), e1()))
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if len(events) != 1 || !events[0].Rotated || events[0].Keys != 2 || events[0].State != Fresh {
			t.Fatalf("events %+v", events)
		}
		if k.Stats().Generation == before {
			t.Fatal("another set has the same generation")
		}
	})
}

// TestUnknownKidsCauseTwoFetchesAMinute keeps up a flood for ten minutes; every
// key id is new, so that no memory of misses helps.
func TestUnknownKidsCauseTwoFetchesAMinute(t *testing.T) {
	for name, outage := range map[string]bool{"healthy issuer": false, "outage": true} {
		t.Run(name, func(t *testing.T) {
			issuer := goodIssuer(k1())
			onFakeClock(t, KeyConfig{}, issuer, func(t *testing.T, k *KeyHolder) {
				if outage {
					issuer.set(http.StatusServiceUnavailable, nil)
				}
				for i := range 10 * 60 * 100 {
					if _, _, err := k.find(t.Context(), fmt.Sprint("invented", i), RS256); err == nil {
						t.Fatal("found an invented key")
					}
					time.Sleep(10 * time.Millisecond)
				}
				if len(k.misses.until) > maxMisses {
					t.Errorf("%d misses are remembered", len(k.misses.until))
				}
				demanded := k.Stats().OnDemand
				if demanded < 5 || demanded > 20 {
					t.Errorf("%d fetches on demand in 10 minutes, want at most 2 a minute and some", demanded)
				}
				calls := issuer.times()
				for i, first := range calls {
					n := 0
					for _, call := range calls[i:] {
						if call.Sub(first) < time.Minute {
							n++
						}
					}
					// A scheduled refresh may fall into any minute.
					if n > 3 || n > 2 && !outage && first.Sub(calls[0]) < 5*time.Minute {
						t.Errorf("%d fetches within a minute", n)
					}
				}
			})
		})
	}
}

func TestOneOutdatedClientDoesNotUseUpTheLimiter(t *testing.T) {
	issuer := goodIssuer(k1())
	onFakeClock(t, KeyConfig{}, issuer, func(t *testing.T, k *KeyHolder) {
		time.Sleep(5 * time.Minute) // so that the limiter alone would allow two
		_, _, err := k.find(t.Context(), "outdated", RS256)
		if err == nil || issuer.count() != 2 {
			t.Fatalf("error %v after %d fetches", err, issuer.count())
		}
		time.Sleep(59 * time.Second)
		if _, _, err := k.find(t.Context(), "outdated", RS256); err == nil || issuer.count() != 2 {
			t.Fatalf("error %v after %d fetches: the miss was forgotten", err, issuer.count())
		}
		time.Sleep(2 * time.Second)
		if _, _, err := k.find(t.Context(), "outdated", RS256); err == nil || issuer.count() != 3 {
			t.Fatalf("error %v after %d fetches: the miss is remembered for too long", err, issuer.count())
		}

		// A key that is published after all is known at the next fetch.
		issuer.set(http.StatusOK, jwks(k1(), testKey{"outdated", RS256, otherRSAKey()}))
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if _, _, err := k.find(t.Context(), "outdated", RS256); err != nil {
			t.Fatal(err)
		}
	})
}

func TestLimiter(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(1_800_000_000+int64(seconds), 0) }
	l := limiter{cooldown: 30 * time.Second}
	for i, step := range []struct {
		at    int
		allow bool // a token asks; if allowed it is fetched
		clock bool // the clock fetches
	}{
		{at: 0, clock: true},
		{at: 1, allow: true}, // right after a scheduled fetch
		{at: 30},
		{at: 59},
		{at: 60, allow: true},
		{at: 89},
		{at: 90, allow: true},
		{at: 119},
		{at: 120, allow: true},
		{at: 600, allow: true},
		{at: 629},
		{at: 630, allow: true},
		{at: 659},
		{at: 660, allow: true},
		{at: 1000, clock: true},
		{at: 1001, clock: true},
		{at: 1059},
		{at: 1060, allow: true},
	} {
		if step.clock {
			l.fetched(false, at(step.at))
			continue
		}
		if got := l.allow(at(step.at)); got != step.allow {
			t.Fatalf("step %d at %d s: allow %t, want %t", i, step.at, got, step.allow)
		}
		if step.allow {
			l.fetched(true, at(step.at))
		}
	}
}

func TestSecureIssuerCannotNameInsecureKeys(t *testing.T) {
	for _, jwksURL := range []string{"http://127.0.0.1/keys", "http://id.example/keys", "HTTP://127.0.0.1/keys"} {
		synctest.Test(t, func(t *testing.T) {
			issuer := &fakeIssuer{status: http.StatusOK, body: fmt.Appendf(nil, `{"issuer":"https://id.example","jwks_uri":%q}`, jwksURL)}
			k := must(NewKeyHolder(KeyConfig{Issuer: "https://id.example", AllowInsecure: true, Transport: issuer}))
			defer k.Close()
			k.Start()
			synctest.Wait()
			if s := k.Stats(); s.State != Down || !strings.Contains(s.LastError, "not https") {
				t.Fatalf("%s: stats %+v", jwksURL, s)
			}
		})
	}
}

func TestCooldownIsSharedByUnknownKidsAndBadSignatures(t *testing.T) {
	issuer := goodIssuer(k1())
	onFakeClock(t, KeyConfig{}, issuer, func(t *testing.T, k *KeyHolder) {
		generation := k.Stats().Generation
		if keys, _ := k.findAfter(t.Context(), generation, "k1", RS256); keys != nil || issuer.count() != 2 {
			t.Fatalf("keys %v after %d fetches", keys, issuer.count())
		}
		if _, _, err := k.find(t.Context(), "new", RS256); err == nil || issuer.count() != 2 {
			t.Fatalf("error %v after %d fetches", err, issuer.count())
		}
		time.Sleep(61 * time.Second)
		issuer.set(http.StatusOK, jwks(testKey{"new", RS256, otherRSAKey()}))
		if _, _, err := k.find(t.Context(), "new", RS256); err != nil || issuer.count() != 3 {
			t.Fatalf("error %v after %d fetches", err, issuer.count())
		}
		if keys, _ := k.findAfter(t.Context(), generation, "new", RS256); len(keys) != 1 || issuer.count() != 3 {
			t.Fatal("newer keys that are there already were not used")
		}
	})
}

// TestWaitingIsBounded asks a key server that takes five seconds.
func TestWaitingIsBounded(t *testing.T) {
	issuer := goodIssuer(k1())
	issuer.delay = 5 * time.Second
	onFakeClock(t, KeyConfig{}, issuer, func(t *testing.T, k *KeyHolder) {
		began := time.Now()
		_, _, err := k.find(t.Context(), "k1", RS256)
		wantKind(t, err, Unavailable)
		if waited := time.Since(began); waited != maxWait {
			t.Errorf("waited %s for the first keys", waited)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if _, _, err := k.find(t.Context(), "k1", RS256); err != nil {
			t.Fatal(err)
		}

		issuer.set(http.StatusOK, jwks(k1(), e1()))
		began = time.Now()
		_, _, err = k.find(t.Context(), "e1", ES256)
		wantKind(t, err, Unavailable)
		if waited := time.Since(began); waited != maxWait {
			t.Errorf("waited %s for an unknown key", waited)
		}
		// A known key is served while the fetch is running.
		began = time.Now()
		if _, _, err := k.find(t.Context(), "k1", RS256); err != nil || time.Since(began) != 0 {
			t.Errorf("error %v after %s", err, time.Since(began))
		}
		// The one that comes back finds what the first one asked for.
		if _, _, err := k.find(t.Context(), "e1", ES256); err != nil {
			t.Error(err)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		time.Sleep(2 * time.Minute)
		_, _, err = k.find(ctx, "unknown", ES256)
		wantKind(t, err, Unavailable)
	})
}

func TestFetchesTimeOut(t *testing.T) {
	issuer := goodIssuer(k1())
	issuer.delay = time.Hour
	onFakeClock(t, KeyConfig{}, issuer, func(t *testing.T, k *KeyHolder) {
		time.Sleep(fetchTimeout + time.Millisecond)
		synctest.Wait()
		if s := k.Stats(); s.State != Down || s.Failures != 1 {
			t.Fatalf("stats %+v", s)
		}
	})
}

func TestWaitersAreBounded(t *testing.T) {
	issuer := goodIssuer(k1())
	issuer.delay = 2 * time.Second
	onFakeClock(t, KeyConfig{}, issuer, func(t *testing.T, k *KeyHolder) {
		results := make(chan error, 2*maxWaiters)
		for range 2 * maxWaiters {
			go func() {
				_, _, err := k.find(t.Context(), "k1", RS256)
				results <- err
			}()
		}
		synctest.Wait()
		if n := len(results); n != maxWaiters {
			t.Errorf("%d callers were turned away, want %d", n, maxWaiters)
		}
		good := 0
		for range 2 * maxWaiters {
			if <-results == nil {
				good++
			}
		}
		if good != maxWaiters {
			t.Errorf("%d callers were served, want %d", good, maxWaiters)
		}
	})
}

// TestFetchUnderWayIsNotTrustedToBeNewEnough lets a key appear while a fetch
// that cannot hold it is running.
func TestFetchUnderWayIsNotTrustedToBeNewEnough(t *testing.T) {
	issuer := goodIssuer(k1())
	onFakeClock(t, KeyConfig{}, issuer, func(t *testing.T, k *KeyHolder) {
		issuer.mu.Lock()
		issuer.delay = time.Second
		issuer.mu.Unlock()
		time.Sleep(time.Until(k.Stats().NextFetch) + 500*time.Millisecond)
		synctest.Wait()
		if issuer.count() != 2 {
			t.Fatal("no scheduled fetch is running")
		}
		issuer.set(http.StatusOK, jwks(k1(), e1()))
		if _, _, err := k.find(t.Context(), "e1", ES256); err != nil {
			t.Fatal(err)
		}
		if issuer.count() != 3 {
			t.Fatalf("%d fetches, want 3", issuer.count())
		}
	})
}

func TestKeyConfigIsChecked(t *testing.T) {
	for name, tc := range map[string]struct {
		config KeyConfig
		good   bool
	}{
		"nothing":              {KeyConfig{}, false},
		"issuer":               {KeyConfig{Issuer: "https://id.example/"}, true},
		"issuer, http":         {KeyConfig{Issuer: "http://id.example/"}, false},
		"issuer, query":        {KeyConfig{Issuer: "https://id.example/?a=b"}, false},
		"issuer, fragment":     {KeyConfig{Issuer: "https://id.example/#"}, false},
		"key set":              {KeyConfig{JWKSURL: "https://id.example/keys?v=1"}, true},
		"key set, http":        {KeyConfig{JWKSURL: "http://id.example/keys"}, false},
		"insecure":             {KeyConfig{JWKSURL: "http://id.example/keys", AllowInsecure: true}, true},
		"loopback":             {KeyConfig{JWKSURL: "http://[::1]:80/keys"}, true},
		"localhost":            {KeyConfig{JWKSURL: "http://localhost:80/keys"}, true},
		"not localhost":        {KeyConfig{JWKSURL: "http://localhost.example/keys"}, false},
		"file":                 {KeyConfig{JWKSURL: "file:///keys", AllowInsecure: true}, false},
		"no host":              {KeyConfig{JWKSURL: "https:///keys"}, false},
		"relative":             {KeyConfig{JWKSURL: "/keys"}, false},
		"password":             {KeyConfig{JWKSURL: "https://u:p@id.example/"}, false},
		"space":                {KeyConfig{JWKSURL: "https://id.example/ keys"}, false},
		"line break":           {KeyConfig{JWKSURL: "https://id.example/\nkeys"}, false},
		"not ASCII":            {KeyConfig{JWKSURL: "https://id.example/schlüssel"}, false},
		"escaped host":         {KeyConfig{JWKSURL: "https://%69d.example/keys"}, false},
		"negative":             {KeyConfig{JWKSURL: "https://id.example/", Cooldown: -1}, false},
		"bounds the wrong way": {KeyConfig{JWKSURL: "https://id.example/", MinRefresh: 2, MaxRefresh: 1}, false},
		"only a lower bound":   {KeyConfig{JWKSURL: "https://id.example/", MinRefresh: 3 * time.Hour}, true},
	} {
		if _, err := NewKeyHolder(tc.config); (err == nil) != tc.good {
			t.Errorf("%s: error %v, want good %t", name, err, tc.good)
		}
	}
}

func TestKeyConfigIDTellsSettingsApart(t *testing.T) {
	base := KeyConfig{Issuer: "https://id.example/", JWKSURL: "https://id.example/keys"}
	if base.ID() != (KeyConfig{Issuer: base.Issuer, JWKSURL: base.JWKSURL, Cooldown: DefaultCooldown}).ID() {
		t.Error("a default written out makes another holder")
	}
	for name, change := range map[string]func(*KeyConfig){
		"issuer": func(c *KeyConfig) { c.Issuer += "x" }, "url": func(c *KeyConfig) { c.JWKSURL += "x" },
		"insecure": func(c *KeyConfig) { c.AllowInsecure = true }, "stale": func(c *KeyConfig) { c.MaxStale = 1 },
		"cooldown": func(c *KeyConfig) { c.Cooldown = 1 }, "min": func(c *KeyConfig) { c.MinRefresh = 1 },
		"max": func(c *KeyConfig) { c.MaxRefresh = 2 * time.Hour },
	} {
		other := base
		change(&other)
		if other.ID() == base.ID() {
			t.Errorf("holders that differ in %s would be shared", name)
		}
	}
}
