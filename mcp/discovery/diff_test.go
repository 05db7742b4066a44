package discovery

import (
	"reflect"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

func TestOnlyWhatATextMeansIsCompared(t *testing.T) {
	tool := func(text string) []rawjson.Value { return []rawjson.Value{rawjson.Value(text)} }
	for name, tt := range map[string]struct {
		before, after []rawjson.Value
		only          []string
		want          Difference
	}{
		"nothing": {nil, nil, nil, Difference{}},
		"order and blanks": {
			tool(`{"name":"a","x":{"b":[1,2],"c":"ä"}}`), tool(`{ "x" : {"c":"\u00e4", "b":[1, 2]}, "name":"a"}`), nil,
			Difference{},
		},
		"order of a list": {tool(`{"name":"a","x":[1,2]}`), tool(`{"name":"a","x":[2,1]}`), nil, Difference{Changed: []Change{{"a", []string{"x"}}}}},
		"great numbers":   {tool(`{"name":"a","x":9007199254740993}`), tool(`{"name":"a","x":9007199254740992}`), nil, Difference{Changed: []Change{{"a", []string{"x"}}}}},
		"a new member":    {tool(`{"name":"a"}`), tool(`{"name":"a","x":null}`), nil, Difference{Changed: []Change{{"a", []string{"x"}}}}},
		"not of interest": {tool(`{"name":"a"}`), tool(`{"name":"a","x":1}`), []string{"y"}, Difference{}},
		"renamed":         {tool(`{"name":"a"}`), tool(`{"name":"b"}`), nil, Difference{Added: []string{"b"}, Removed: []string{"a"}}},
	} {
		got := Compare(tt.before, tt.after, tt.only)
		if got.Any() != (len(tt.want.Added)+len(tt.want.Removed)+len(tt.want.Changed) > 0) {
			t.Errorf("%s: Any is %v", name, got.Any())
		}
		for _, list := range []*[]string{&tt.want.Added, &tt.want.Removed} {
			if *list == nil {
				*list = []string{}
			}
		}
		if tt.want.Changed == nil {
			tt.want.Changed = []Change{}
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}
