package onboarding

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/links"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// ManifestPath is where a plugin's manifest is, relative to the plugin's root.
const ManifestPath = ".codex-plugin/plugin.json"

// portableManifest is read by some hosts instead.
const portableManifest = "plugin.json"

// maxFile bounds every file that is read, in bytes.
const maxFile = 1 << 20

// Finding is something wrong with a plugin. It marshals as it is printed.
type Finding struct {
	File   string `json:"file"`   // relative to the plugin's root
	Detail string `json:"detail"` // what is the case
	Fix    string `json:"fix"`    // what to write or change
}

// Plugin is the folder of a plugin. Nothing outside it is read or written,
// wherever its symbolic links point.
type Plugin struct {
	root *os.Root
}

// Open opens a plugin's folder. It is to be closed.
func Open(folder string) (*Plugin, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("opening the plugin's folder: %w", err)
	}

	return &Plugin{root}, nil
}

// Close closes the folder.
func (p *Plugin) Close() error { return p.root.Close() }

// Manifest reads the plugin's manifest, nil if there is none.
func (p *Plugin) Manifest() (rawjson.Value, error) { return p.readJSON(ManifestPath) }

// Declared returns the skill that the manifest declares, and whether it declares
// one. A portable manifest beside it that says something else is a finding.
func (p *Plugin) Declared() (skill string, found bool, findings []Finding) {
	for _, file := range []string{ManifestPath, portableManifest} {
		manifest, err := p.readJSON(file)
		if err != nil {
			findings = append(findings, Finding{file, err.Error(), "correct the file; hosts skip a manifest that they cannot read"})

			continue
		}

		value := manifest.Get("extensions", "com.openai", "onboardingSkill")
		text, ok := value.Text()

		switch {
		case !value.Exists():
		case !ok:
			findings = append(findings, Finding{file, "extensions[\"com.openai\"].onboardingSkill is no string", "write the path of one skill, such as ./skills/setup/SKILL.md"})
		case found && text != skill:
			findings = append(findings, Finding{file, fmt.Sprintf("declares another onboarding skill than %s does", ManifestPath), "write the same path in both"})
		default:
			skill, found = text, true
		}
	}

	return skill, found, findings
}

// CheckSkill checks a declared skill: its path by the rules of
// [links.CheckOnboardingSkill], that the file is packaged, under exactly that
// name and inside the plugin, and that its front matter says what it is.
func (p *Plugin) CheckSkill(declared string) (Skill, []Finding) {
	if err := links.CheckOnboardingSkill(declared); err != nil {
		return Skill{}, []Finding{{ManifestPath, err.Error(), "write the path of a packaged skill, such as ./skills/setup/SKILL.md"}}
	}

	name := path.Clean(declared) // without ./

	if finding := p.checkPackaged(name); finding != nil {
		return Skill{}, []Finding{*finding}
	}

	content, err := p.read(name)
	if err != nil {
		return Skill{}, []Finding{{name, err.Error(), "make it a readable text file"}}
	}

	skill, findings := readSkill(name, content)
	skill.Path = declared

	return skill, findings
}

// checkPackaged returns what is wrong with a file that should be in the plugin.
func (p *Plugin) checkPackaged(name string) *Finding {
	at := func(detail, fix string) *Finding { return &Finding{name, detail, fix} }

	info, err := p.root.Stat(name)

	switch {
	case errors.Is(err, fs.ErrNotExist):
		return at("is not there", "add the skill, or correct the path in "+ManifestPath)
	case err != nil && p.leavesRoot(name):
		return at("leads out of the plugin through a symbolic link", "copy the skill into the plugin: only its folder is packaged")
	case err != nil:
		return at("cannot be read: "+err.Error(), "correct the file's permissions")
	case !info.Mode().IsRegular():
		return at("is no regular file", "make it a text file")
	}

	// Some file systems find a file under another spelling; packages and the
	// systems they are unpacked on do not.
	for dir, rest := ".", name; rest != ""; {
		var segment string

		segment, rest, _ = strings.Cut(rest, "/")

		entries, err := fs.ReadDir(p.root.FS(), dir)
		if err != nil {
			return at("cannot be read: "+err.Error(), "correct the folder's permissions")
		}

		if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == segment }) {
			return at(fmt.Sprintf("is written differently from the file's own name at %q", segment), "write upper and lower case as the file system has it")
		}

		dir = path.Join(dir, segment)
	}

	return nil
}

// leavesRoot reports whether following symbolic links leads out of the plugin.
func (p *Plugin) leavesRoot(name string) bool {
	root, err := filepath.EvalSymlinks(p.root.Name())
	if err != nil {
		return false
	}

	real, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return false
	}

	rel, err := filepath.Rel(root, real)

	return err != nil || !filepath.IsLocal(rel)
}

// readJSON reads a JSON object, nil if the file is not there.
func (p *Plugin) readJSON(name string) (rawjson.Value, error) {
	content, err := p.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	if err != nil {
		return nil, err
	}

	return parseObject(content)
}

func (p *Plugin) read(name string) ([]byte, error) {
	f, err := p.root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	defer func() { _ = f.Close() }()

	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))

	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the file: %w", err)
	case len(content) > maxFile:
		return nil, fmt.Errorf("is larger than %d bytes", maxFile)
	default:
		return content, nil
	}
}
