// Package page holds no code of its own: its tests run the page client in
// Chromium, in sandboxed frames without a network, against a synthetic host.
//
// A scenario is a function of testdata/suite; it runs in the host's page, opens
// pages of testdata/apps as frames of another origin, and reports what it found.
// A synthetic host shows that the client keeps to the bridge as it is specified.
// It is no proof of how any real host behaves.
package page
