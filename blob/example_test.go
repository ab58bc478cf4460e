package blob_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/parley-api/parley/blob"
)

func Example() {
	folder, err := os.MkdirTemp("", "blobs-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	store, err := blob.OpenFolder(folder, nil)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()

	// At most a mebibyte; nil accepts whatever arrives.
	info, err := store.Put(ctx, strings.NewReader("hello"), 1<<20, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(info.Size, info.Digest.String()[:16])

	source, err := store.Open(ctx, info.Digest)
	if err != nil {
		panic(err)
	}
	defer source.Close()
	part, err := source.Section(ctx, 1, 3)
	if err != nil {
		panic(err)
	}
	defer part.Close()
	text, err := io.ReadAll(part)
	fmt.Printf("%s %v\n", text, err)

	// Whatever no row of the database holds goes.
	none := func(context.Context, []blob.Digest) (map[blob.Digest]bool, error) { return nil, nil }
	swept, err := blob.Sweep(ctx, store, time.Now().Add(time.Hour), none)
	fmt.Printf("%+v %v\n", swept, err)
	// Output:
	// 5 2cf24dba5fb0a30e
	// ell <nil>
	// {Trashed:1 Restored:0 Deleted:0 Temporary:0} <nil>
}
