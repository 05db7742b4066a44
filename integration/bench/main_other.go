//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "bench: it reads the accounts of Linux (/proc) and runs there only")
	os.Exit(2)
}
