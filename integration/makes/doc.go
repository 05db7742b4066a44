// Package makes holds tests that put the gateway before servers of three makes:
// one that knows nothing of any host, one that advertises everything itself in
// the way of the official TypeScript SDK, and one in the way of the Python SDK,
// which tells older clients nothing. What each kind of caller gets from each,
// in both eras and both framings, is kept byte for byte in testdata/golden:
//
//	go test ./integration/makes -update
//
// writes the files anew. They are read before they are committed: a golden file
// proves only that nothing changed, not that it was right.
package makes
