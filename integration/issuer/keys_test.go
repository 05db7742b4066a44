package issuer

import (
	"errors"
	"slices"
	"testing"
)

func TestRotationKeepsOldKeysUntilRetired(t *testing.T) {
	i := running(t)
	for _, alg := range []string{RS256, ES256, EdDSA} {
		oldKey := i.KeyIDs(alg)[0]
		before, err := i.Issue(Grant{Algorithm: alg})
		if err != nil {
			t.Fatal(err)
		}

		newKey, err := i.Rotate(alg)
		if err != nil || newKey == oldKey {
			t.Fatalf("rotating %s: %q after %q, %v", alg, newKey, oldKey, err)
		}
		after, err := i.Issue(Grant{Algorithm: alg})
		if err != nil {
			t.Fatal(err)
		}

		set := get[keySet](t, i.JWKSURL())
		for token, want := range map[string]string{before: oldKey, after: newKey} {
			if header, _, err := verify(t, set, token); err != nil || header["kid"] != want {
				t.Errorf("%s: signed by %v, want %s: %v", alg, header["kid"], want, err)
			}
		}

		if err := i.Retire(oldKey); err != nil {
			t.Fatal(err)
		}
		withdrawn, err := i.Issue(Grant{KeyID: oldKey})
		if err != nil {
			t.Fatal(err)
		}
		set = get[keySet](t, i.JWKSURL())
		for token, wantOK := range map[string]bool{before: false, withdrawn: false, after: true} {
			if _, _, err := verify(t, set, token); (err == nil) != wantOK {
				t.Errorf("%s after retiring: %v, want it to verify: %t", alg, err, wantOK)
			}
		}
		if got := i.KeyIDs(alg); !slices.Equal(got, []string{newKey}) {
			t.Errorf("%s: published %q", alg, got)
		}
	}

	if err := i.Retire("nobody"); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("retiring an unknown key: %v", err)
	}
	if _, err := i.Rotate("HS256"); err == nil {
		t.Error("a key was made for HS256")
	}
}

func TestReplacedKeyKeepsItsIDOnly(t *testing.T) {
	i := running(t)
	kid := i.KeyIDs(ES256)[0]
	before, err := i.Issue(Grant{})
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Replace(kid); err != nil {
		t.Fatal(err)
	}
	after, err := i.Issue(Grant{})
	if err != nil {
		t.Fatal(err)
	}

	set := get[keySet](t, i.JWKSURL())
	if len(set.Keys) != 3 {
		t.Errorf("%d keys published, want 3", len(set.Keys))
	}
	if _, _, err := verify(t, set, before); err == nil {
		t.Error("a token of the replaced key verifies")
	}
	if header, _, err := verify(t, set, after); err != nil || header["kid"] != kid {
		t.Errorf("signed by %v, want %s: %v", header["kid"], kid, err)
	}

	if err := i.Retire(kid); err != nil {
		t.Fatal(err)
	}
	if err := i.Replace(kid); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("replacing a retired key: %v", err)
	}
	if _, err := i.Issue(Grant{}); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("issuing without a published key: %v", err)
	}
}

func TestPublishedKeysArePublic(t *testing.T) {
	i := running(t)
	for _, k := range get[map[string][]map[string]any](t, i.JWKSURL())["keys"] {
		for _, private := range []string{"d", "p", "q", "dp", "dq", "qi", "k"} {
			if _, ok := k[private]; ok {
				t.Errorf("key %v shows %s", k["kid"], private)
			}
		}
	}
}
