// Servers of Go's own libraries, for tests: net/http with and without TLS, and grpc-go.
//
// It says its port on stdout, serves until stdin ends, and then says how many requests it has served. A connection has room for so
// many streams; after so many requests, or so many milliseconds with gRPC, connections are retired by GOAWAY (0: never).
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync/atomic"
)

var served atomic.Int64

func main() {
	if len(os.Args) != 4 {
		fail("usage: go-servers http|CERTIFICATE,KEY|grpc STREAMS RETIRE_AFTER")
	}
	streams, err := strconv.Atoi(os.Args[2])
	check(err)
	retire, err := strconv.Atoi(os.Args[3])
	check(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	if os.Args[1] == "grpc" {
		go serveCalls(listener, streams, retire)
	} else {
		go serveRequests(listener.(*net.TCPListener), os.Args[1], streams, int64(retire))
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	check(err)
	fmt.Println(served.Load())
}

func check(err error) {
	if err != nil {
		fail(err)
	}
}

func fail(said any) {
	fmt.Fprintln(os.Stderr, said)
	os.Exit(1)
}
