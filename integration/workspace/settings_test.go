package workspace

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/store"
)

// initially are the values of a person who changed only some, as JSON has them.
func initially(changed store.Values) store.Values {
	all := store.Values{
		"theme": "system", "density": "comfortable", "pageSize": 20.0, "showArchived": false, "language": "en", "undoSeconds": 5.0,
		"notifyMentions": true, "notifyReplies": true, "notifyProposals": false,
	}
	maps.Copy(all, changed)

	return all
}

func TestSettingsBelongToOnePersonOfOneTenant(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			_, endpoint := start(t, Config{})
			ada := connect(t, endpoint, era, editor)
			others := map[string]*mcp.ClientSession{
				"another subject": connect(t, endpoint, era, viewer),
				"another tenant":  connect(t, endpoint, era, store.Caller{Tenant: "globex", Subject: "ada"}),
			}

			after := call[valuesResult](t, ada, "settings.update", map[string]any{"set": map[string]any{"theme": "dark"}}).Values
			want := initially(store.Values{"theme": "dark"})
			if !maps.Equal(after, want) {
				t.Errorf("update returns %v, want %v", after, want)
			}
			if read := call[settingsResult](t, ada, "settings.read", map[string]any{}).Values; !maps.Equal(read, want) {
				t.Errorf("read returns %v, want %v", read, want)
			}

			for name, c := range others {
				if got := call[settingsResult](t, c, "settings.read", nil).Values["theme"]; got != "system" {
					t.Errorf("%s has theme %v", name, got)
				}
			}
		})
	}
}

// The read result must describe itself: a value for each property, and a layout
// that names each property once and only tools that exist and accept {}.
func TestSettingsDescribeThemselves(t *testing.T) {
	eachEra(t, editor, func(t *testing.T, _ *Server, c *mcp.ClientSession) {
		read := call[settingsResult](t, c, "settings.read", map[string]any{})

		keys := slices.Sorted(maps.Keys(read.Schema.Properties))
		if got := slices.Sorted(maps.Keys(read.Values)); !slices.Equal(got, keys) {
			t.Errorf("values of %q, properties %q", got, keys)
		}
		if got := slices.Sorted(slices.Values(read.Schema.Required)); !slices.Equal(got, keys) {
			t.Errorf("required %q, properties %q", got, keys)
		}

		var laidOut []string
		for _, group := range read.Layout {
			for _, item := range group.Items {
				if item.Kind == "tool" {
					call[any](t, c, item.Tool, map[string]any{})
					continue
				}
				laidOut = append(laidOut, item.Property)
			}
		}
		slices.Sort(laidOut)
		if !slices.Equal(laidOut, keys) {
			t.Errorf("layout of %q, properties %q", laidOut, keys)
		}
	})
}

// badSettings are changes that must be refused as a whole.
var badSettings = map[string]string{
	"empty":              `{}`,
	"null":               `null`,
	"unknown key":        `{"theme":"dark","colour":"red"}`,
	"case variant":       `{"Theme":"dark"}`,
	"value outside enum": `{"theme":"solarized"}`,
	"wrong type":         `{"theme":true}`,
	"null value":         `{"theme":null}`,
	"object value":       `{"theme":{"set":"dark"}}`,
	"number as string":   `{"pageSize":"20"}`,
	"fraction":           `{"pageSize":20.5}`,
	"too small":          `{"pageSize":0}`,
	"too large":          `{"pageSize":101}`,
	"huge number":        `{"pageSize":1e300}`,
	"not the pattern":    `{"language":"English"}`,
	"pattern and more":   `{"language":"en\nx"}`,
	"not a multiple":     `{"undoSeconds":0.3}`,
	"list for a switch":  `{"notifyMentions":["mentions"]}`,
	"good beside bad":    `{"density":"compact","showArchived":"yes"}`,
}

func TestBadSettingsChangeNothing(t *testing.T) {
	eachEra(t, editor, func(t *testing.T, s *Server, c *mcp.ClientSession) {
		before := call[settingsResult](t, c, "settings.read", nil).Values
		for name, set := range badSettings {
			refused(t, c, "settings.update", map[string]any{"set": json.RawMessage(set)})

			// The store must hold alone, whatever the schema lets through.
			var change map[string]json.RawMessage
			if err := json.Unmarshal([]byte(set), &change); err != nil {
				t.Fatal(err)
			}
			if after, err := s.store.UpdateSettings(t.Context(), editor, change); err == nil {
				t.Errorf("%s: the store made it %v", name, after)
			}
			if after := call[settingsResult](t, c, "settings.read", nil).Values; !maps.Equal(after, before) {
				t.Errorf("%s: settings are now %v", name, after)
			}
		}

		for name, arguments := range map[string]string{
			"no set": `{}`, "set is an array": `{"set":[]}`, "member beside set": `{"set":{"theme":"dark"},"reset":true}`,
		} {
			refused(t, c, "settings.update", json.RawMessage(arguments))
			if after := call[settingsResult](t, c, "settings.read", nil).Values; !maps.Equal(after, before) {
				t.Errorf("%s: settings are now %v", name, after)
			}
		}
	})
}

func TestSettingsNeedASubject(t *testing.T) {
	eachEra(t, store.Caller{Tenant: "acme"}, func(t *testing.T, _ *Server, c *mcp.ClientSession) {
		refused(t, c, "settings.read", nil)
		refused(t, c, "settings.update", map[string]any{"set": map[string]any{"theme": "dark"}})
		call[homeResult](t, c, "workspace.home", nil) // shows the initial ones
	})
}

// Concurrent updates of different settings must all be kept, and each answer must
// show a state that really was: its own change included.
func TestConcurrentUpdatesLoseNothing(t *testing.T) {
	changes := []map[string]any{
		{"theme": "dark"}, {"density": "compact"}, {"pageSize": 33.0}, {"showArchived": true},
	}
	const rounds = 5

	for _, era := range eras {
		for _, dsn := range []string{":memory:", filepath.Join(t.TempDir(), "w.db")} {
			t.Run(fmt.Sprintf("%s/%t", era, dsn == ":memory:"), func(t *testing.T) {
				_, endpoint := start(t, Config{DSN: dsn})
				c := connect(t, endpoint, era, editor)

				var wg sync.WaitGroup
				for range rounds {
					for _, set := range changes {
						wg.Go(func() {
							after, err := tryCall[valuesResult](t.Context(), c, "settings.update", map[string]any{"set": set})
							if err != nil {
								t.Error(err)
								return
							}
							for key, value := range set {
								if after.Values[key] != value {
									t.Errorf("after setting %s to %v it is %v", key, value, after.Values[key])
								}
							}
						})
						wg.Go(func() {
							if _, err := tryCall[deckResult](t.Context(), c, "create_deck", map[string]any{"title": "Parallel"}); err != nil {
								t.Error(err)
							}
						})
					}
				}
				wg.Wait()

				after := call[settingsResult](t, c, "settings.read", nil).Values
				want := initially(store.Values{"theme": "dark", "density": "compact", "pageSize": 33.0, "showArchived": true})
				if !maps.Equal(after, want) {
					t.Errorf("settings are %v, want %v", after, want)
				}
				if got, want := len(call[decksResult](t, c, "list_decks", nil).Decks), 4+rounds*len(changes); got != want {
					t.Errorf("%d decks, want %d", got, want)
				}
			})
		}
	}
}
