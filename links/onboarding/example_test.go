package onboarding_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/caddy-mcp-app/caddy-mcp-app/links/onboarding"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// A skill is checked and declared, in the plugin's manifest and in the file of
// the marketplace that offers the plugin.
func Example() {
	root, err := os.MkdirTemp("", "marketplace-")
	if err != nil {
		fmt.Println(err)

		return
	}
	defer func() { _ = os.RemoveAll(root) }()

	folder := filepath.Join(root, "plugins", "bits-and-bolts")
	skill := filepath.Join(folder, "skills", "setup")
	_ = os.MkdirAll(skill, 0o755)
	_ = os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte("---\nname: setup\ndescription: Connects your workshop.\n---\n"), 0o644)

	plugin, err := onboarding.Open(folder)
	if err != nil {
		fmt.Println(err)

		return
	}
	defer func() { _ = plugin.Close() }()

	checked, findings := plugin.CheckSkill("./skills/setup/SKILL.md")
	fmt.Println(checked.Name, findings)

	manifest, _ := plugin.Manifest() // none yet
	manifest, _ = onboarding.Declare(manifest, "bits-and-bolts", checked.Path)
	fmt.Println(plugin.WriteManifest(manifest))
	fmt.Println(plugin.Declared())

	file := filepath.Join(root, ".agents", "plugins", "marketplace.json")
	entry, _ := onboarding.NewEntry("bits-and-bolts", "Productivity", file, folder)
	marketplace, _ := onboarding.ReadMarketplace(file) // none yet
	marketplace, _ = onboarding.AddEntry(marketplace, "acme", entry)
	fmt.Println(onboarding.WriteMarketplace(file, marketplace), entry.Source.Path)
	// Output:
	// setup []
	// <nil>
	// ./skills/setup/SKILL.md true []
	// <nil> ./plugins/bits-and-bolts
}

func ExampleDeclare() {
	manifest, err := onboarding.Declare(rawjson.Value(`{"name":"bits-and-bolts"}`), "bits-and-bolts", "./skills/setup/SKILL.md")
	fmt.Println(string(manifest), err)
	// Output: {"name":"bits-and-bolts","extensions":{"com.openai":{"onboardingSkill":"./skills/setup/SKILL.md"}}} <nil>
}

func ExampleNewEntry() {
	entry, err := onboarding.NewEntry("bits-and-bolts", "Productivity", "", "")
	fmt.Println(entry.Source.Path, entry.Policy.Installation, err)
	// Output: ./plugins/bits-and-bolts AVAILABLE <nil>
}

func ExampleAddEntry() {
	file, err := onboarding.AddEntry(rawjson.Value(`{"name":"acme","plugins":[{"name":"other"}]}`), "acme", onboarding.Entry{Name: "bits-and-bolts"})
	fmt.Println(file.Get("plugins").Len(), err)
	// Output: 2 <nil>
}
