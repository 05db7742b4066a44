-- Columns are read and written with their deck only, so they are part of it.
ALTER TABLE decks ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
ALTER TABLE decks ADD COLUMN columns TEXT NOT NULL DEFAULT '[]'; -- JSON
ALTER TABLE decks ADD COLUMN made_from TEXT NOT NULL DEFAULT ''; -- hash of the request, to know a retry

-- The newest revision of a tenant's activities.
CREATE TABLE heads (
	tenant   TEXT NOT NULL PRIMARY KEY,
	revision INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE activities (
	tenant   TEXT NOT NULL,
	id       TEXT NOT NULL,
	position INTEGER NOT NULL, -- order of first publication
	revision INTEGER NOT NULL, -- the head when it last changed
	proposal TEXT NOT NULL, -- JSON
	decision TEXT, -- JSON, of a person
	PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX activities_in_order ON activities (tenant, position);

-- What publications were answered, for those who ask again.
CREATE TABLE receipts (
	tenant     TEXT NOT NULL,
	request_id TEXT NOT NULL,
	request    TEXT NOT NULL, -- hash
	revision   INTEGER NOT NULL,
	receipt    TEXT NOT NULL, -- JSON
	PRIMARY KEY (tenant, request_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE changes (
	tenant   TEXT NOT NULL,
	seq      INTEGER NOT NULL,
	subject  TEXT NOT NULL, -- of whom it is to know, empty for everybody
	kind     TEXT NOT NULL,
	id       TEXT NOT NULL,
	revision INTEGER NOT NULL, -- 0 if it is gone
	PRIMARY KEY (tenant, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE connections (
	tenant     TEXT NOT NULL,
	id         TEXT NOT NULL,
	account    TEXT NOT NULL,
	status     TEXT NOT NULL CHECK (status IN ('connected', 'expired')),
	credential TEXT NOT NULL, -- shown to the relay and to nobody else
	PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE people (
	tenant TEXT NOT NULL,
	handle TEXT NOT NULL,
	name   TEXT NOT NULL,
	PRIMARY KEY (tenant, handle)
) STRICT, WITHOUT ROWID;

-- Keys that cursors are signed with.
CREATE TABLE cursor_keys (
	tenant TEXT NOT NULL PRIMARY KEY,
	key    BLOB NOT NULL
) STRICT, WITHOUT ROWID;
