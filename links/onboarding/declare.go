package onboarding

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// maxDepth is far above the nesting of any manifest.
const maxDepth = 32

// marketplaceFile is where hosts look for a marketplace, relative to its root.
const marketplaceFile = ".agents/plugins/marketplace.json"

// pluginName is what hosts take as the name of a plugin or a marketplace.
var pluginName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// Entry is a plugin in a marketplace file. Its members are in the order in which
// they are written.
type Entry struct {
	Name     string      `json:"name"`
	Source   EntrySource `json:"source"`
	Policy   EntryPolicy `json:"policy"`
	Category string      `json:"category"`
}

// EntrySource says where the plugin is: source local, and a path that begins
// with "./" from the marketplace's root.
type EntrySource struct {
	Source string `json:"source"`
	Path   string `json:"path"`
}

// EntryPolicy says when users get the plugin and when they sign in.
type EntryPolicy struct {
	Installation   string `json:"installation"`
	Authentication string `json:"authentication"`
}

// NewEntry describes a plugin of the marketplace's own repository. file is the
// marketplace file and folder the plugin's; an empty file stands for one that
// keeps its plugins in ./plugins.
func NewEntry(name, category, file, folder string) (Entry, error) {
	if !pluginName.MatchString(name) {
		return Entry{}, fmt.Errorf("the plugin's name %q may hold letters, digits, hyphens and underscores only", name)
	}

	source := "./plugins/" + name

	if file != "" {
		rel, err := fromMarketplaceRoot(file, folder)
		if err != nil {
			return Entry{}, err
		}

		source = "./" + rel
	}

	return Entry{
		Name: name, Category: category,
		Source: EntrySource{Source: "local", Path: source},
		Policy: EntryPolicy{Installation: "AVAILABLE", Authentication: "ON_INSTALL"},
	}, nil
}

// fromMarketplaceRoot returns the way to the plugin from the folder above
// .agents/plugins, by which hosts resolve it.
func fromMarketplaceRoot(file, folder string) (string, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return "", fmt.Errorf("finding the marketplace file: %w", err)
	}

	root := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	if filepath.Join(root, filepath.FromSlash(marketplaceFile)) != file {
		return "", fmt.Errorf("hosts find a marketplace file only at <root>/%s", marketplaceFile)
	}

	if folder, err = filepath.Abs(folder); err != nil {
		return "", fmt.Errorf("finding the plugin's folder: %w", err)
	}

	rel, err := filepath.Rel(root, folder)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return "", errors.New("the plugin's folder must be below the marketplace's root, which is the folder that holds .agents")
	}

	return filepath.ToSlash(rel), nil
}

// Declare returns the manifest with the onboarding skill declared in it; all
// else keeps its bytes. Without a manifest a new one is made for the name.
func Declare(manifest rawjson.Value, name, skill string) (rawjson.Value, error) {
	if !manifest.Exists() {
		if !pluginName.MatchString(name) {
			return nil, fmt.Errorf("the plugin's name %q may hold letters, digits, hyphens and underscores only", name)
		}

		manifest = rawjson.Value("{\n  \"name\": " + string(rawjson.Quote(name)) + "\n}")
	}

	return setMember(manifest, rawjson.Quote(skill), "extensions", "com.openai", "onboardingSkill")
}

// AddEntry returns the marketplace file with the entry in it, in the place of an
// entry of the same name. Without a file a new one is made for the marketplace;
// a file of another marketplace is an error.
func AddEntry(file rawjson.Value, marketplace string, entry Entry) (rawjson.Value, error) {
	if !pluginName.MatchString(marketplace) {
		return nil, fmt.Errorf("the marketplace's name %q may hold letters, digits, hyphens and underscores only", marketplace)
	}

	if !file.Exists() {
		file = rawjson.Value("{\n  \"name\": " + string(rawjson.Quote(marketplace)) + ",\n  \"plugins\": []\n}")
	}

	if name, _ := file.Get("name").Text(); name != marketplace {
		return nil, fmt.Errorf("the file is of the marketplace %q, not of %q", name, marketplace)
	}

	plugins := file.Get("plugins")

	switch plugins.Kind() {
	case rawjson.Array:
	case rawjson.Absent:
		plugins = rawjson.Value("[]")
	default:
		return nil, errors.New("its member plugins is no array")
	}

	same := func(p rawjson.Value) bool { name, _ := p.Get("name").Text(); return name == entry.Name }
	i := slices.IndexFunc(slices.Collect(plugins.Elements()), same)

	return setMember(file, setElement(plugins, entry.value(), i, unitOf(file)), "plugins")
}

func (e Entry) value() rawjson.Value {
	v, err := json.Marshal(e)
	if err != nil {
		panic(err) // strings only
	}

	return v
}
