package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// The first server on this socket. Each one that retires is followed by another on the same socket, so that no connect fails.
func serveRequests(listener *net.TCPListener, how string, streams int, retire int64) {
	file, err := listener.File()
	check(err)
	large := bytes.Repeat([]byte("x"), 1_000_000)
	var begin func()
	handle := func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			return
		}
		if r.ProtoMajor != 2 {
			http.Error(w, r.Proto, http.StatusHTTPVersionNotSupported)
		} else if r.URL.Path == "/large" {
			w.Write(large)
		} else {
			fmt.Fprintf(w, "hello after %d bytes\n", n)
		}
	}
	begin = func() {
		server := &http.Server{HTTP2: &http.HTTP2Config{MaxConcurrentStreams: streams}}
		server.Protocols = new(http.Protocols)
		server.Protocols.SetHTTP2(true)
		server.Protocols.SetUnencryptedHTTP2(true)
		server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n := served.Add(1); retire > 0 && n%retire == 0 {
				begin()
				go server.Shutdown(context.Background())
			}
			handle(w, r)
		})
		listener, err := net.FileListener(file)
		check(err)
		go func() {
			err := http.ErrServerClosed
			if certificate, key, isTLS := strings.Cut(how, ","); isTLS {
				err = server.ServeTLS(listener, certificate, key)
			} else {
				err = server.Serve(listener)
			}
			if !errors.Is(err, http.ErrServerClosed) {
				fail(err)
			}
		}()
	}
	begin()
}
