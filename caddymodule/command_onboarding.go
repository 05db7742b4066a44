package caddymodule

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/caddy-mcp-app/caddy-mcp-app/links/onboarding"
)

func init() { verbs = append(verbs, newOnboardingCommand) }

// onboardingFlags are the flags of caddy mcp-app onboarding.
type onboardingFlags struct {
	skill, pluginID, marketplace, marketplaceFile, category string
	config, adapter, endpoint                               string
	write, asJSON                                           bool
}

// newOnboardingCommand is caddy mcp-app onboarding.
func newOnboardingCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "onboarding <plugin folder> [--skill <path>] [--plugin <id>] [--marketplace <name> [--marketplace-file <file>]] [--config <file>] [--write] [--json]",
		Short: "Checks the onboarding skill of a plugin's folder, and declares it",
		Long: `Checks the onboarding skill of a plugin's folder: that the manifest declares
it as a relative path, that the file is packaged with the plugin and no symbolic
link leads out of it, and that its front matter gives a name and a description.

Prints what belongs into .codex-plugin/plugin.json and, for a plugin of a custom
marketplace, into the marketplace file. With --write both are put there; all else
in these files stays as it is.

The plugin and its marketplace are taken from the flags, else from the links block
of the configuration, else from the manifest.`,
		Example:               `  caddy mcp-app onboarding ./plugins/bits-and-bolts --skill ./skills/setup/SKILL.md --write`,
		DisableFlagsInUseLine: true,
	}
	var f onboardingFlags
	flags := cmd.Flags()
	flags.StringVar(&f.skill, "skill", "", "Skill to declare, such as ./skills/setup/SKILL.md (default: the declared one)")
	flags.StringVar(&f.pluginID, "plugin", "", "Plugin id")
	flags.StringVar(&f.marketplace, "marketplace", "", "Name of the custom marketplace; none for a published plugin")
	flags.StringVar(&f.marketplaceFile, "marketplace-file", "", "The marketplace's .agents/plugins/marketplace.json")
	flags.StringVar(&f.category, "category", "Productivity", "Category in the marketplace")
	flags.StringVar(&f.config, "config", "", "Configuration to take the plugin from")
	flags.StringVar(&f.adapter, "adapter", "", "Name of the config adapter (default: by the file's name)")
	flags.StringVar(&f.endpoint, "endpoint", "", "Path of the endpoint in the configuration, where there are several")
	flags.BoolVar(&f.write, "write", false, "Write the files")
	flags.BoolVar(&f.asJSON, "json", false, "Print the result as JSON")
	cmd.RunE = verb(func(cmd *cobra.Command, args []string) int {
		if len(args) != 1 {
			return usageError(cmd, "name the plugin's folder")
		}
		if f.config != "" {
			configured, err := readConfiguredPlugin(f.config, f.adapter, f.endpoint)
			if err != nil && f.pluginID == "" {
				return usageError(cmd, "%v", err)
			}
			if f.pluginID == "" {
				f.pluginID, f.marketplace = configured.Plugin, cmp.Or(f.marketplace, configured.Marketplace)
			}
		}
		if f.marketplaceFile != "" && f.marketplace == "" {
			return usageError(cmd, "--marketplace-file needs the marketplace's name; say --marketplace")
		}
		plugin, err := onboarding.Open(args[0])
		if err != nil {
			return usageError(cmd, "%v", err)
		}
		defer func() { _ = plugin.Close() }()
		job := onboardingJob{onboardingFlags: f, plugin: plugin, folder: args[0]}
		return job.run(cmd)
	})
	return cmd
}
