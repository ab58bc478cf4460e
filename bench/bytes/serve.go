package main

import (
	"fmt"
	"net/http"
	"os"
	"runtime"

	"github.com/parley-api/parley/bench/internal/server"
	"github.com/parley-api/parley/byterange"
)

// serve is a server process: "standard" is http.ServeContent, "parley"
// package byterange.
func serve(kind, name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	etag := `"1"`
	handler := func(w http.ResponseWriter, r *http.Request) {
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
			panic(fmt.Errorf("serving: %w", err))
		}
	}
	return server.Serve(http.HandlerFunc(handler), server.Ready{Version: runtime.Version()})
}
