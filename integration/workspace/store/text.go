package store

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxHashtag bounds a hashtag, in characters.
const maxHashtag = 50

// line returns a text of one line without blanks around it.
func line(what, text string, most int) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", refuse(Invalid, "%s is missing", what)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return "", refuse(Invalid, "%s is one line of text", what)
	case utf8.RuneCountInString(text) > most:
		return "", refuse(Invalid, "%s has at most %d characters", what, most)
	}

	return text, nil
}

// prose returns a text of any number of lines without blanks around it.
func prose(what, text string, most int) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }):
		return "", refuse(Invalid, "%s is text", what)
	case utf8.RuneCountInString(text) > most:
		return "", refuse(Invalid, "%s has at most %d characters", what, most)
	}

	return text, nil
}

// hashtag checks one hashtag. The rule is not in the schemas: classes of
// characters such as "letter of any script" are not written alike everywhere.
func hashtag(tag string) error {
	n := utf8.RuneCountInString(tag)
	inner := func(r rune) bool {
		return r == '_' || unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
	}
	switch {
	case !utf8.ValidString(tag) || n == 0 || n > maxHashtag, strings.ContainsFunc(tag, func(r rune) bool { return !inner(r) }):
		return refuse(Invalid, "hashtag %q: write 1 to %d letters, digits and underscores, without the #", tag, maxHashtag)
	case !strings.ContainsFunc(tag, unicode.IsLetter):
		return refuse(Invalid, "hashtag %q: at least one letter makes it a hashtag", tag)
	}

	return nil
}

// hashtags checks several.
func hashtags(tags []string) error {
	seen := make(map[string]bool)
	for _, tag := range tags {
		if err := hashtag(tag); err != nil {
			return err
		}
		key := strings.ToLower(tag)
		if seen[key] {
			return refuse(Invalid, "hashtag %q is there twice", tag)
		}
		seen[key] = true
	}

	return nil
}
