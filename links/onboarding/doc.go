// Package onboarding checks the onboarding skill of a plugin's folder, and
// writes what declares it: the member of the plugin's manifest and the entry of
// a marketplace file.
//
// # Guarantees
//
// [Open] reads and changes nothing, follows no link out of the plugin's folder, and
// lists all findings, not the first. [Declare] and [AddEntry] change the one member
// they are about and keep every other byte of the file. Files are replaced whole or
// not at all.
//
// # Trade-offs
//
// Where a plugin has two manifests, the one that hosts are known to read is written,
// and the other is compared only.
package onboarding
