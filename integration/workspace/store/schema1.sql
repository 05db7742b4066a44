CREATE TABLE decks (
	tenant   TEXT NOT NULL,
	id       TEXT NOT NULL,
	title    TEXT NOT NULL,
	archived INTEGER NOT NULL DEFAULT 0 CHECK (archived IN (0, 1)),
	created  INTEGER NOT NULL, -- milliseconds since 1970
	PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- Only what a person changed; everything else has its default.
CREATE TABLE settings (
	tenant  TEXT NOT NULL,
	subject TEXT NOT NULL,
	key     TEXT NOT NULL,
	value   TEXT NOT NULL, -- JSON
	PRIMARY KEY (tenant, subject, key)
) STRICT, WITHOUT ROWID;
