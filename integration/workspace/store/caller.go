package store

// Caller is who asks. The store believes it: whoever builds one has checked it.
type Caller struct {
	Tenant  string
	Subject string // empty if nobody in particular asks
}

// Person returns the subject, for what is kept per person.
func (c Caller) Person() (string, error) {
	if c.Subject == "" {
		return "", refuse(NoSubject, "no subject: this is kept for a person, and the request names none")
	}

	return c.Subject, nil
}
