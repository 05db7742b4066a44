package membership

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const ann = `{"issuer":"i","subject":"ann","tenant":"acme","roles":["editor"],"scopes":["r"]}`

func membersOf(entries ...string) string {
	return `{"members":[` + strings.Join(entries, ",") + `]}`
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func isMember(t testing.TB, s Source, issuer, subject, tenant string) bool {
	t.Helper()
	m, err := s.Member(t.Context(), issuer, subject, tenant)
	if err != nil {
		t.Fatal(err)
	}
	return m.Member
}

func TestAMembersFileIsReadStrictly(t *testing.T) {
	tests := []struct{ name, content, want string }{
		{"good", membersOf(ann, `{"issuer":"i","subject":"bob","disabled":true}`), ""},
		{"nobody", membersOf(), ""},
		{"same subject of another tenant", membersOf(ann, `{"issuer":"i","subject":"ann","tenant":"globex"}`), ""},
		{"same subject of another issuer", membersOf(ann, `{"issuer":"j","subject":"ann","tenant":"acme"}`), ""},
		{"empty", ``, "reading members"},
		{"no list", `{}`, `no list "members"`},
		{"null", `{"members":null}`, `no list "members"`},
		{"unknown name", `{"members":[],"version":1}`, "version"},
		{"unknown name in an entry", membersOf(`{"issuer":"i","subject":"s","admin":true}`), "admin"},
		{"misspelt by case", membersOf(`{"issuer":"i","subject":"s","Disabled":true}`), "Disabled"},
		{"repeated name", membersOf(`{"issuer":"i","subject":"s","disabled":true,"disabled":false}`), "duplicate"},
		{"trailing bytes", membersOf() + `{}`, "reading members"},
		{"not UTF-8", membersOf("{\"issuer\":\"i\",\"subject\":\"\xff\"}"), "UTF-8"},
		{"twice", membersOf(ann, ann), `entry 2: subject "ann" of tenant "acme" is there twice`},
		{"twice, once disabled", membersOf(ann, strings.Replace(ann, `"roles"`, `"disabled":true,"roles"`, 1)), "there twice"},
		{"no issuer", membersOf(`{"subject":"s"}`), "issuer is empty"},
		{"no subject", membersOf(ann, `{"issuer":"i"}`), "entry 2: subject is empty"},
		{"empty tenant", membersOf(`{"issuer":"i","subject":"s","tenant":""}`), "tenant is empty"},
		{"padded", membersOf(`{"issuer":"i","subject":"s "}`), "subject has blanks"},
		{"control characters", membersOf(`{"issuer":"i","subject":"s\n1"}`), "subject holds control"},
		{"long", membersOf(`{"issuer":"i","subject":"` + strings.Repeat("s", 1025) + `"}`), "longer than 1024"},
		{"roles no list", membersOf(`{"issuer":"i","subject":"s","roles":"admin"}`), "roles is not an array"},
		{"roles null", membersOf(`{"issuer":"i","subject":"s","scopes":null}`), "scopes is not an array"},
		{"numeric role", membersOf(`{"issuer":"i","subject":"s","roles":[4]}`), "something else than texts"},
		{"empty role", membersOf(`{"issuer":"i","subject":"s","roles":[""]}`), "roles holds a name that is empty"},
		{"disabled as text", membersOf(`{"issuer":"i","subject":"s","disabled":"no"}`), "reading members"},
	}
	for _, tt := range tests {
		_, err := parseFile([]byte(tt.content))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want an error saying %q", tt.name, err, tt.want)
		}
	}
}

func TestAMemberIsOneOfThatTenantAndIssuerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "members.json")
	write(t, path, membersOf(ann, `{"issuer":"i","subject":"bob","tenant":"acme","disabled":true}`, `{"issuer":"i","subject":"eve","scopes":[]}`))
	f, err := NewFile(FileConfig{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, tt := range []struct {
		issuer, subject, tenant string
		want                    bool
	}{
		{"i", "ann", "acme", true},
		{"i", "ann", "globex", false},
		{"i", "ann", "", false},
		{"j", "ann", "acme", false},
		{"i", "Ann", "acme", false},
		{"i", "bob", "acme", false},
		{"i", "eve", "", true},
		{"i", "eve", "acme", false},
	} {
		if got := isMember(t, f, tt.issuer, tt.subject, tt.tenant); got != tt.want {
			t.Errorf("%+v: got %v", tt, got)
		}
	}
	m, _ := f.Member(t.Context(), "i", "ann", "acme")
	if !slices.Equal(m.Roles, []string{"editor"}) || !slices.Equal(m.Scopes, []string{"r"}) {
		t.Errorf("got %+v", m)
	}
	if m, _ := f.Member(t.Context(), "i", "eve", ""); m.Scopes == nil {
		t.Error("an empty list of scopes sets no limit")
	}
	if f.Len() != 2 {
		t.Errorf("%d members", f.Len())
	}
}

// follow starts a File inside a bubble, and returns what it told.
func follow(t *testing.T, content string) (f *File, path string, gone *[]Identity, faults *[]error) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "members.json")
	write(t, path, content)
	gone, faults = new([]Identity), new([]error)
	f, err := NewFile(FileConfig{
		Path:     path,
		OnChange: func(who []Identity) { *gone = append(*gone, who...) },
		OnFault:  func(err error) { *faults = append(*faults, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f, path, gone, faults
}

// seconds lets the clock of the bubble run.
func seconds(n int) {
	time.Sleep(time.Duration(n) * time.Second)
	synctest.Wait()
}

func TestWhoIsTakenOutIsOutWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bob := `{"issuer":"i","subject":"bob","tenant":"acme"}`
		f, path, gone, faults := follow(t, membersOf(ann, bob))
		write(t, path, membersOf(strings.Replace(ann, "editor", "viewer", 1), `{"issuer":"i","subject":"new","tenant":"acme"}`))
		seconds(1)
		if isMember(t, f, "i", "bob", "acme") || !isMember(t, f, "i", "new", "acme") {
			t.Error("the change has not arrived")
		}
		slices.SortFunc(*gone, func(a, b Identity) int { return strings.Compare(a.Subject, b.Subject) })
		if want := []Identity{{"i", "ann", "acme"}, {"i", "bob", "acme"}}; !slices.Equal(*gone, want) {
			t.Errorf("told about %v, want %v", *gone, want)
		}
		// Replaced by renaming, with size and times of before.
		info, _ := os.Stat(path)
		other := path + ".new"
		write(t, other, strings.Replace(membersOf(strings.Replace(ann, "editor", "viewer", 1), `{"issuer":"i","subject":"new","tenant":"acme"}`), "new", "old", 1))
		if err := os.Chtimes(other, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(other, path); err != nil {
			t.Fatal(err)
		}
		seconds(1)
		if isMember(t, f, "i", "new", "acme") || !isMember(t, f, "i", "old", "acme") {
			t.Error("a file that was put in the place of the old one has not been read")
		}
		if len(*faults) != 0 {
			t.Errorf("faults: %v", *faults)
		}
	})
}

func TestTheLastGoodFileStaysWithOneWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, path, gone, faults := follow(t, membersOf(ann))
		for _, broken := range []string{`{"members":[`, ``, strings.Repeat(" ", maxFile+1)} {
			write(t, path, broken)
			seconds(3)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		seconds(3)
		if !isMember(t, f, "i", "ann", "acme") || len(*gone) != 0 {
			t.Errorf("a broken file changed members: %v", *gone)
		}
		if len(*faults) != 4 {
			t.Errorf("%d faults told, want one for each kind: %v", len(*faults), *faults)
		}
		write(t, path, membersOf(ann))
		seconds(1)
		if len(*faults) != 5 || (*faults)[4] != nil {
			t.Errorf("the end of the fault was not told: %v", *faults)
		}
		if err := f.Reload(); err != nil {
			t.Error(err)
		}
	})
}

func TestAFileMustBeGoodAtLoad(t *testing.T) {
	if _, err := NewFile(FileConfig{Path: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a missing file was accepted")
	}
}

// Files are read only when they may have changed: long-lived ones cost a stat.
func TestASettledFileIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "members.json")
	write(t, path, membersOf(ann))
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	f, err := NewFile(FileConfig{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.settledLocked(info) {
		t.Error("an old file is read again and again")
	}
}

func FuzzMembersFile(f *testing.F) {
	f.Add([]byte(membersOf(ann)))
	f.Add([]byte(`{"members":[{"issuer":"i","subject":"s","scopes":[],"disabled":true}]}`))
	f.Add([]byte(`{"members":[null]}`))
	f.Add([]byte(`{"members":[{"issuer":"i","subject":"s","roles":[null]}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		all, err := parseFile(raw)
		if err != nil && all != nil {
			t.Fatal("members in spite of an error")
		}
		for who, m := range all {
			if !m.Member || who.Issuer == "" || who.Subject == "" || slices.Contains(m.Roles, "") || slices.Contains(m.Scopes, "") {
				t.Fatalf("%+v is %+v", who, m)
			}
		}
	})
}
