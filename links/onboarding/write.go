package onboarding

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Everybody reads what is packaged.
const (
	folderMode = 0o755
	fileMode   = 0o644
)

// draft is the ending of a file that is about to take the place of another: one
// cut short would be no manifest any more.
const draft = ".new"

// WriteManifest replaces the plugin's manifest.
func (p *Plugin) WriteManifest(manifest rawjson.Value) error {
	err := p.root.MkdirAll(path.Dir(ManifestPath), folderMode)
	if err == nil {
		err = p.root.WriteFile(ManifestPath+draft, withNewline(manifest), fileMode)
	}

	if err == nil {
		err = p.root.Rename(ManifestPath+draft, ManifestPath)
	}

	if err != nil {
		return fmt.Errorf("writing the manifest: %w", err)
	}

	return nil
}

// ReadMarketplace reads a marketplace file, nil if there is none.
func ReadMarketplace(file string) (rawjson.Value, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	if err != nil {
		return nil, fmt.Errorf("reading the marketplace file: %w", err)
	}

	return parseObject(content)
}

// WriteMarketplace replaces a marketplace file.
func WriteMarketplace(file string, v rawjson.Value) error {
	err := os.MkdirAll(filepath.Dir(file), folderMode)
	if err == nil {
		err = os.WriteFile(file+draft, withNewline(v), fileMode)
	}

	if err == nil {
		err = os.Rename(file+draft, file)
	}

	if err != nil {
		return fmt.Errorf("writing the marketplace file: %w", err)
	}

	return nil
}

func withNewline(v rawjson.Value) []byte {
	return append(append(make([]byte, 0, len(v)+1), v...), '\n')
}
