// Package freeport finds ports for servers whose address must be known before
// they start.
package freeport

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// The range lies below those from which Linux, macOS and Windows take the ports
// of outgoing connections and of listeners on port 0: a port of theirs can be
// taken again between the look and the use, by anything that runs beside it.
const first, count = 20000, 12000

// Get returns a port that nothing listens on at 127.0.0.1. It is not reserved;
// another caller gets the same one with a chance of 1 in 12,000.
func Get() (int, error) {
	var err error
	for range 100 {
		port := first + rand.IntN(count) //nolint:gosec // nothing to guess
		var listener net.Listener
		if listener, err = net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil { //nolint:noctx // listens or fails at once
			return port, listener.Close()
		}
	}
	return 0, errors.Join(errors.New("no free port found"), err)
}

// Address returns such a port with its host.
func Address() (string, error) {
	port, err := Get()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), err
}
