// Package doctor seeds faults before and behind the gateway, one at a time, and
// holds the doctor to finding each of them and nothing else. It has tests only.
package doctor
