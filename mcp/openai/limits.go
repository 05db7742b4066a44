package openai

import (
	"errors"
	"fmt"
)

// Limits bound what the validators accept. Zero means the default; a member may
// be set lower or higher. Lengths of text count characters (code points), sizes
// count bytes.
type Limits struct {
	MetadataBytes  int `json:"metadata_bytes,omitempty"`  // serialized extension metadata; default 65536
	MetadataDepth  int `json:"metadata_depth,omitempty"`  // its levels; default 16
	SettingsFields int `json:"settings_fields,omitempty"` // properties of a settings schema; default 64
	SettingsString int `json:"settings_string,omitempty"` // length of a settings value; default 4096
	LayoutGroups   int `json:"layout_groups,omitempty"`   // groups of a settings layout; default 32
	LayoutItems    int `json:"layout_items,omitempty"`    // items of one group; default 64
	MentionQuery   int `json:"mention_query,omitempty"`   // length of a search text; default 256
	MentionItems   int `json:"mention_items,omitempty"`   // items of one answer; default 25
	MentionHandle  int `json:"mention_handle,omitempty"`  // bytes of a handle; default 2048
	MentionTitle   int `json:"mention_title,omitempty"`   // length of a title; default 512
	MentionIcons   int `json:"mention_icons,omitempty"`   // icons of one item; default 8
}

var defaultLimits = Limits{
	MetadataBytes: 64 << 10, MetadataDepth: 16,
	SettingsFields: 64, SettingsString: 4096, LayoutGroups: 32, LayoutItems: 64,
	MentionQuery: 256, MentionItems: 25, MentionHandle: 2048, MentionTitle: 512, MentionIcons: 8,
}

// members lists all limits in the order of their declaration.
func (l *Limits) members() []*int {
	return []*int{
		&l.MetadataBytes, &l.MetadataDepth, &l.SettingsFields, &l.SettingsString, &l.LayoutGroups, &l.LayoutItems,
		&l.MentionQuery, &l.MentionItems, &l.MentionHandle, &l.MentionTitle, &l.MentionIcons,
	}
}

func (l Limits) withDefaults() Limits {
	defaults := defaultLimits
	for i, member := range defaults.members() {
		if set := *l.members()[i]; set != 0 {
			*member = set
		}
	}
	return defaults
}

func (l Limits) check() error {
	for _, member := range l.members() {
		if *member < 0 {
			return fmt.Errorf("limits: %w", errors.New("a limit cannot be negative: write a positive number, or leave it out for the default"))
		}
	}
	return nil
}
