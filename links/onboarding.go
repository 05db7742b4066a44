package links

import (
	"fmt"
	"strings"
)

// maxSkillPath is the limit in bytes; plugin folders are shallow.
const maxSkillPath = 512

const (
	skillRoot = "./skills/"
	skillFile = "SKILL.md"
)

// CheckOnboardingSkill checks the text of extensions["com.openai"].onboardingSkill
// in a plugin manifest (onboarding extension): the path of a packaged skill,
// ./skills/<folder>/SKILL.md with one or more folders, relative to the root of
// the plugin, with forward slashes, at most 512 bytes. Folder names may hold
// anything that is the same name on every system. Whether the file is there, and
// inside the plugin once links are followed, is for the caller to see.
func CheckOnboardingSkill(path string) error {
	if fault := checkSkill(path); fault != nil {
		return fault
	}

	return nil
}

func checkSkill(path string) *Error {
	bad := func(at int, reason string) *Error { return &Error{"skill", at, reason} }

	if len(path) > maxSkillPath {
		return bad(maxSkillPath, fmt.Sprintf("is longer than %d bytes", maxSkillPath))
	}

	rest, found := strings.CutPrefix(path, skillRoot)
	if !found {
		return bad(0, "does not begin with "+skillRoot)
	}

	if fault := findRune("skill", path, fileKind); fault != nil {
		return fault
	}

	folders := strings.Split(rest, "/")
	file := folders[len(folders)-1]
	folders = folders[:len(folders)-1]
	at := len(skillRoot)

	for _, folder := range folders {
		// Windows drops dots and spaces at the end of a name, which also makes
		// every dot segment end in one.
		if folder == "" || strings.TrimSpace(folder) != folder || strings.HasSuffix(folder, ".") {
			return bad(at, "holds a folder that is empty, ends in a dot or has outer spaces")
		}

		at += len(folder) + 1
	}

	switch {
	case file != skillFile:
		return bad(at, "does not end in /"+skillFile)
	case len(folders) == 0:
		return bad(at, "names no folder under "+skillRoot)
	default:
		return nil
	}
}

// fileKind names the characters that some file system or shell reads as more
// than part of a name.
func fileKind(r rune) string {
	if strings.ContainsRune(`\:*?"<>|`, r) {
		return "special character"
	}

	return nameKind(r)
}
