package caddymodule

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/caddy-mcp-app/caddy-mcp-app/links"
)

func init() { verbs = append(verbs, newLinkCommand) }

// linkFlags are the flags of caddy mcp-app link.
type linkFlags struct {
	plugin, tool, path, marketplace, platform, check string
	asJSON                                           *bool
}

// newLinkCommand is caddy mcp-app link.
func newLinkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "link (--plugin <id> --tool <name> [--path <path>] [--marketplace <name>] [--platform desktop|mobile|web|all] | --check <url>) [--json]",
		Short: "Builds links to a page of a plugin app, or checks one",
		Long: `Builds links to a page of a plugin app, or checks one: prints the parts of a
good link, and shows where a faulty one goes wrong.

Whether the tool exists and carries a global entrypoint is not looked up.`,
		Example: `  caddy mcp-app link --plugin bits-and-bolts --tool cad.library --path '/parts?tag=bolt'
  caddy mcp-app link --check 'codex://plugins/bits-and-bolts/app/cad.library?path=%2Fparts'`,
		DisableFlagsInUseLine: true,
	}
	f := linkFlags{asJSON: jsonFlag(cmd)}
	flags := cmd.Flags()
	flags.StringVar(&f.plugin, "plugin", "", "Plugin id")
	flags.StringVar(&f.tool, "tool", "", "Name of the tool with the global entrypoint")
	flags.StringVar(&f.path, "path", "/", "Page inside the app, with its query, not encoded")
	flags.StringVar(&f.marketplace, "marketplace", "", "Name of a custom marketplace; none for a published plugin")
	flags.StringVar(&f.platform, "platform", "all", "Platform: desktop, mobile, web or all")
	flags.StringVar(&f.check, "check", "", "Link to check")
	cmd.RunE = verb(func(cmd *cobra.Command, args []string) int {
		switch {
		case len(args) > 0:
			return usageError(cmd, "link takes flags only, not %q", args[0])
		case flags.Changed("check"):
			for _, other := range []string{"plugin", "tool", "path", "marketplace", "platform"} {
				if flags.Changed(other) {
					return usageError(cmd, "--check takes a whole link and cannot stand beside --%s", other)
				}
			}
			return f.checkLink(cmd)
		case !flags.Changed("plugin") || !flags.Changed("tool"):
			return usageError(cmd, "--plugin and --tool are needed, or --check")
		default:
			return f.buildLinks(cmd)
		}
	})
	return cmd
}

// builtLink is one link as it is printed.
type builtLink struct {
	Platform links.Platform `json:"platform"`
	URL      string         `json:"url"`
}

func (f linkFlags) buildLinks(cmd *cobra.Command) int {
	platforms := []links.Platform{links.Desktop, links.Mobile, links.Web}
	switch p := links.Platform(f.platform); p {
	case "all":
		if f.marketplace != "" {
			platforms = platforms[:2] // a custom marketplace has no web links
		}
	case links.Desktop, links.Mobile, links.Web:
		platforms = []links.Platform{p}
	default:
		return usageError(cmd, "--platform is not one of desktop, mobile, web, all")
	}
	path, err := links.ParseAppURL(f.path)
	if err != nil {
		return reportFault(cmd, *f.asJSON, err, f.path)
	}
	var built []builtLink
	for _, p := range platforms {
		link, err := links.AppLink{PluginID: f.plugin, Marketplace: f.marketplace, Tool: f.tool, Path: path, Platform: p}.Build()
		if err != nil {
			return reportFault(cmd, *f.asJSON, err, f.value(err))
		}
		built = append(built, builtLink{p, link})
	}
	switch {
	case *f.asJSON:
		printJSON(cmd, map[string]any{"links": built})
	case len(built) == 1:
		fmt.Fprintln(cmd.OutOrStdout(), built[0].URL)
	default:
		for _, b := range built {
			fmt.Fprintf(cmd.OutOrStdout(), "%-8s %s\n", b.Platform, b.URL)
		}
	}
	return exitClean
}

// checkLink prints the parts of a link.
func (f linkFlags) checkLink(cmd *cobra.Command) int {
	link, err := links.ParseAppLink(f.check)
	if err != nil {
		return reportFault(cmd, *f.asJSON, err, f.check)
	}
	if *f.asJSON {
		printJSON(cmd, map[string]any{"valid": true, "link": link})
		return exitClean
	}
	for _, part := range [][2]string{
		{"platform", string(link.Platform)},
		{"plugin", link.PluginID},
		{"marketplace", link.Marketplace},
		{"tool", link.Tool},
		{"path", string(link.Path)},
	} {
		if part[1] != "" {
			fmt.Fprintf(cmd.OutOrStdout(), "%-12s %s\n", part[0], visible(part[1]))
		}
	}
	return exitClean
}

// value returns the flag in which a fault of [links.AppLink.Build] was found.
func (f linkFlags) value(err error) string {
	switch faultOf(err).Part {
	case "plugin id":
		return f.plugin
	case "marketplace":
		return f.marketplace
	case "tool":
		return f.tool
	default:
		return f.path
	}
}
