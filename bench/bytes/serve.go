package main

import (
	"net/http"
	"os"
	"runtime"

	"github.com/parley-api/parley/bench/internal/server"
	"github.com/parley-api/parley/byterange"
)

// serve is a server process.
func serve(kind, name string) error {
	h, err := handler(kind, name)
	if err != nil {
		return err
	}
	return server.Serve(h, server.Ready{Version: runtime.Version()})
}

// handler serves a file: "standard" by http.ServeContent, "byterange" by the
// package of that name.
func handler(kind, name string) (http.Handler, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	etag := `"1"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open(name)
		if err != nil {
			panic(err)
		}
		defer f.Close()
		w.Header().Set("Cache-Control", "private, no-cache")
		if kind == "standard" {
			w.Header().Set("ETag", etag)
			w.Header().Set("Content-Type", "application/octet-stream")
			http.ServeContent(w, r, "", info.ModTime(), f)
			return
		}
		c := byterange.Content{Size: info.Size(), ETag: etag, Modified: info.ModTime(), File: f}
		if err := byterange.Serve(w, r, c, nil); err != nil {
			panic(http.ErrAbortHandler)
		}
	}), nil
}
