package caddymodule

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/caddy-mcp-app/caddy-mcp-app/links/onboarding"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// onboardingJob is one run of caddy mcp-app onboarding.
type onboardingJob struct {
	onboardingFlags
	plugin *onboarding.Plugin
	folder string
	name   string // of the plugin, in its manifest
	report onboardingReport
}

// onboardingReport is what was found and made.
type onboardingReport struct {
	Skill    *onboarding.Skill    `json:"skill"`
	Findings []onboarding.Finding `json:"findings"`
	Manifest json.RawMessage      `json:"manifest,omitempty"` // the least that declares the skill
	Entry    *onboarding.Entry    `json:"marketplace_entry,omitempty"`
	Written  []string             `json:"written"`
}

func (j *onboardingJob) run(cmd *cobra.Command) int {
	j.report = onboardingReport{Findings: []onboarding.Finding{}, Written: []string{}}
	if j.checkSkill() && j.makeEntries() && j.write && j.writeFiles() {
		// What another manifest says is seen only now.
		_, _, left := j.plugin.Declared()
		j.report.Findings = append(j.report.Findings, left...)
	}
	if j.asJSON {
		printJSON(cmd, j.report)
	} else {
		j.report.print(cmd)
	}
	for _, f := range j.report.Findings {
		cmd.PrintErrf("%s: %s\n  %s\n", visible(f.File), visible(f.Detail), f.Fix)
	}
	if len(j.report.Findings) > 0 {
		return exitFindings
	}
	return exitClean
}

// add notes a finding and returns false.
func (j *onboardingJob) add(file, detail, fix string) bool {
	j.report.Findings = append(j.report.Findings, onboarding.Finding{File: file, Detail: detail, Fix: fix})
	return false
}

// checkSkill checks the skill that is declared or is to be.
func (j *onboardingJob) checkSkill() bool {
	declared := j.skill
	if declared == "" {
		skill, found, findings := j.plugin.Declared()
		declared = skill
		j.report.Findings = append(j.report.Findings, findings...)
		switch {
		case !found && len(findings) == 0:
			return j.add(onboarding.ManifestPath, "declares no onboarding skill", "name one with --skill ./skills/<folder>/SKILL.md, and --write to declare it")
		case !found:
			return false
		}
	}
	skill, findings := j.plugin.CheckSkill(declared)
	for _, f := range findings {
		j.add(f.File, f.Detail, f.Fix)
	}
	if len(findings) == 0 {
		j.report.Skill = &skill
	}
	return len(j.report.Findings) == 0
}

// makeEntries makes what belongs into the manifest and the marketplace file.
func (j *onboardingJob) makeEntries() bool {
	manifest, err := j.plugin.Manifest()
	if err != nil {
		return j.add(onboarding.ManifestPath, err.Error(), "correct the file; hosts skip a manifest that they cannot read")
	}
	own, _ := manifest.Get("name").Text()
	if j.marketplace != "" && j.pluginID != "" && own != "" && own != j.pluginID {
		// Hosts find it under the manifest's name; links would lead nowhere.
		return j.add(onboarding.ManifestPath, fmt.Sprintf("names the plugin %q, but links name it %q", own, j.pluginID), "use one name in both")
	}
	folder, err := filepath.Abs(j.folder)
	if err != nil {
		return j.add(j.folder, err.Error(), "name the folder by its whole path")
	}
	j.name = cmp.Or(own, j.pluginID, filepath.Base(folder))
	least, err := onboarding.Declare(nil, j.name, j.report.Skill.Path)
	if err != nil {
		return j.add(onboarding.ManifestPath, err.Error(), "name the plugin with --plugin, or in the manifest")
	}
	j.report.Manifest = json.RawMessage(least)
	if j.marketplace != "" {
		entry, err := onboarding.NewEntry(j.name, j.category, j.marketplaceFile, folder)
		if err != nil {
			return j.add(cmp.Or(j.marketplaceFile, j.folder), err.Error(), "correct --marketplace-file, or move the folder")
		}
		j.report.Entry = &entry
	}
	return true
}

// writeFiles puts both where they belong, or neither if one cannot be made.
func (j *onboardingJob) writeFiles() bool {
	const fix = "correct the file or its permissions"
	manifest, err := j.plugin.Manifest()
	if err == nil {
		manifest, err = onboarding.Declare(manifest, j.name, j.report.Skill.Path)
	}
	if err != nil {
		return j.add(onboarding.ManifestPath, err.Error(), fix)
	}
	toMarketplace := j.report.Entry != nil && j.marketplaceFile != ""
	var marketplace rawjson.Value
	if toMarketplace {
		if marketplace, err = onboarding.ReadMarketplace(j.marketplaceFile); err == nil {
			marketplace, err = onboarding.AddEntry(marketplace, j.marketplace, *j.report.Entry)
		}
		if err != nil {
			return j.add(j.marketplaceFile, err.Error(), fix)
		}
	}
	if err := j.plugin.WriteManifest(manifest); err != nil {
		return j.add(onboarding.ManifestPath, err.Error(), fix)
	}
	j.report.Written = append(j.report.Written, onboarding.ManifestPath)
	if toMarketplace {
		if err := onboarding.WriteMarketplace(j.marketplaceFile, marketplace); err != nil {
			return j.add(j.marketplaceFile, err.Error(), fix)
		}
		j.report.Written = append(j.report.Written, j.marketplaceFile)
	}
	return true
}

// print shows the result to people.
func (r *onboardingReport) print(cmd *cobra.Command) {
	out := cmd.OutOrStdout()
	if r.Skill != nil {
		fmt.Fprintf(out, "skill        %s\nname         %s\ndescription  %s\n", visible(r.Skill.Path), visible(r.Skill.Name), visible(r.Skill.Description))
	}
	for _, file := range r.Written {
		fmt.Fprintf(out, "written      %s\n", visible(file))
	}
	if len(r.Findings) > 0 {
		return
	}
	if len(r.Written) == 0 {
		fmt.Fprintf(out, "\nin %s:\n%s\n", onboarding.ManifestPath, r.Manifest)
	}
	if r.Entry != nil && len(r.Written) < 2 {
		fmt.Fprint(out, "\nin the plugins of .agents/plugins/marketplace.json:\n")
		printJSON(cmd, r.Entry)
	}
}
