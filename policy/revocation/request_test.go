package revocation

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestParseRequest(t *testing.T) {
	for _, test := range []struct {
		body string
		want Request
		fail string // part of the error
	}{
		{body: `{"jti":"t1"}`, want: Request{JTI: "t1"}},
		{body: ` {"subject":"alice", "issuer":"https://id.example/"} `, want: Request{Issuer: issuer, Subject: "alice"}},
		{body: `{"tenant":"acme","issued_before":"2025-01-02T03:04:05Z","ttl":"12h"}`, want: Request{Tenant: "acme", IssuedBefore: time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC), TTL: 12 * time.Hour}},
		{body: `{"tenant":"acme","issued_before":"2025-01-02T05:04:05.5+02:00"}`, want: Request{Tenant: "acme", IssuedBefore: time.Date(2025, 1, 2, 3, 4, 5, 5e8, time.UTC)}},
		{body: `{"jti":"{env.HOME}"}`, want: Request{JTI: "{env.HOME}"}},

		{body: ``, fail: "reading"},
		{body: `null`, fail: "exactly one"},
		{body: `[]`, fail: "reading"},
		{body: `"t1"`, fail: "reading"},
		{body: `{}`, fail: "exactly one"},
		{body: `{"jti":""}`, fail: "exactly one"},
		{body: `{"jti":1}`, fail: "reading"},
		{body: `{"jti":"t1"} {}`, fail: "reading"},
		{body: `{"jti":"t1","jti":"t2"}`, fail: "reading"},
		{body: `{"JTI":"t1"}`, fail: "reading"},
		{body: `{"jti":"t1","reason":"x"}`, fail: "reading"},
		{body: "{\"jti\":\"\xff\"}", fail: "reading"},
		{body: `{"jti":"t1","tenant":"acme"}`, fail: "exactly one"},
		{body: `{"jti":"t1","issuer":"https://id.example/"}`, fail: "goes with"},
		{body: `{"subject":"alice"}`, fail: `"issuer"`},
		{body: `{"issuer":"https://id.example/"}`, fail: "exactly one"},
		{body: `{"jti":"a\nb"}`, fail: "control"},
		{body: `{"tenant":"` + strings.Repeat("x", maxText+1) + `"}`, fail: "longer"},
		{body: `{"jti":"t1","issued_before":"yesterday"}`, fail: "issued_before"},
		{body: `{"jti":"t1","issued_before":1735787045}`, fail: "reading"},
		{body: `{"jti":"t1","issued_before":"2999-01-01T00:00:00Z"}`, fail: "future"},
		{body: `{"jti":"t1","issued_before":"0001-01-01T00:00:00Z"}`, fail: "issued_before"},
		{body: `{"jti":"t1","ttl":""}`, fail: "ttl"},
		{body: `{"jti":"t1","ttl":"0s"}`, fail: "ttl"},
		{body: `{"jti":"t1","ttl":"-1h"}`, fail: "ttl"},
		{body: `{"jti":"t1","ttl":"10000h"}`, fail: "ttl"},
		{body: `{"jti":"t1","ttl":3600}`, fail: "reading"},
	} {
		got, err := ParseRequest([]byte(test.body))
		switch {
		case test.fail != "" && (err == nil || !strings.Contains(err.Error(), test.fail)):
			t.Errorf("%.60s: error %v, want %q", test.body, err, test.fail)
		case test.fail == "" && err != nil:
			t.Errorf("%.60s: %v", test.body, err)
		case test.fail == "" && (!got.IssuedBefore.Equal(test.want.IssuedBefore) || got.JTI != test.want.JTI || got.Issuer != test.want.Issuer ||
			got.Subject != test.want.Subject || got.Tenant != test.want.Tenant || got.TTL != test.want.TTL):
			t.Errorf("%.60s: %+v, want %+v", test.body, got, test.want)
		}
	}
}

// Different requests have different entries, the same request always the same
// one, however the fields are cut.
func TestEntryID(t *testing.T) {
	now := time.Now()
	seen := map[string]Request{}
	for _, r := range []Request{
		{JTI: "a"},
		{Tenant: "a"},
		{Issuer: "a", Subject: "b"},
		{Issuer: "b", Subject: "a"},
		{Issuer: "a1:b", Subject: "c"},
		{Issuer: "a", Subject: "1:bc"},
		{Tenant: "a", IssuedBefore: now},
		{Tenant: "a", IssuedBefore: now.Add(-time.Second)},
	} {
		e := r.entry(now)
		if other, ok := seen[e.ID]; ok {
			t.Errorf("%+v and %+v are both %s", r, other, e.ID)
		}
		seen[e.ID] = r
		r.TTL = time.Minute
		if again := r.entry(now.Add(time.Hour)); again.ID != e.ID {
			t.Errorf("%+v is %s, and then %s", r, e.ID, again.ID)
		}
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if read, err := decodeEntry(raw); err != nil || !read.equal(e) || !read.IssuedBefore.Equal(e.IssuedBefore) {
			t.Errorf("%+v is read as %+v, %v", e, read, err)
		}
	}
}

func FuzzParseRequest(f *testing.F) {
	f.Add([]byte(`{"subject":"alice","issuer":"https://id.example/","issued_before":"2025-01-02T03:04:05.123456789Z","ttl":"1h30m"}`))
	f.Add([]byte(`{"jti":"t1","jti":"t2"}`))
	f.Add([]byte(`{"tenant":"\ud800"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := ParseRequest(body)
		if err != nil {
			return
		}
		// What is accepted makes an entry that every replica can read, and
		// concerns whom it names.
		e := r.entry(time.Now())
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		read, err := decodeEntry(raw)
		if err != nil || !read.equal(e) {
			t.Fatalf("%+v is read as %+v, %v", e, read, err)
		}
		s := newSnapshot(map[string]Entry{read.ID: read})
		if !s.revokes(Caller{Issuer: r.Issuer, Subject: r.Subject, Tenant: r.Tenant, ID: r.JTI}) {
			t.Fatalf("%+v revokes nothing", r)
		}
	})
}

func FuzzDecodeEntry(f *testing.F) {
	raw, err := json.Marshal(Request{Tenant: "acme"}.entry(time.Now()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{"id":"","tenant":"a","subject":"b"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := decodeEntry(data)
		if err == nil && (e.check() != nil || e.ID != e.id()) {
			t.Fatalf("accepted: %+v", e)
		}
	})
}
