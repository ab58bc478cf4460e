package parley

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/parley-api/parley/blob"
	"github.com/parley-api/parley/blob/bucket"
	"github.com/parley-api/parley/digest"
	"github.com/parley-api/parley/resource"
)

// Bytes that no row needs are deleted some time after the last row let go of
// them, and at least grace after they were put: by then an upload has its row.
const (
	grace    = time.Hour
	interval = time.Hour
)

// openBlobs opens where bytes are kept; nil where no definition has any.
func openBlobs(ctx context.Context, set *settings, definitions []*resource.Definition) (blob.Store, error) {
	if !slices.ContainsFunc(definitions, func(d *resource.Definition) bool { return d.ContentTypes() != nil }) {
		return nil, nil
	}
	folder := filepath.Join(set.Data, "blobs")
	if set.bucket == nil {
		return blob.OpenFolder(folder, &blob.FolderOptions{Now: set.Now})
	}
	return bucket.Open(ctx, set.bucket, filepath.Join(folder, "tmp"))
}

// closeBlobs closes the files that the store of bytes keeps open, if it does.
func (a *App) closeBlobs() {
	if c, ok := a.blobs.(io.Closer); ok {
		if err := c.Close(); err != nil {
			a.log.Warn("closing the stored bytes", "error", err)
		}
	}
}

// Sweep deletes the bytes that no file and no image needs any more, in two
// stages an hour apart, and uploads that were broken off. An App does this by
// itself every hour. It does nothing where Config.Rows keeps the rows, for then
// the App cannot know what is needed.
func (a *App) Sweep(ctx context.Context) (blob.Swept, error) {
	if a.set.Rows != nil || a.blobs == nil {
		return blob.Swept{}, nil
	}
	return blob.Sweep(ctx, a.blobs, a.now().Add(-grace), a.held)
}

// held finds out which digests rows hold, in any table and account.
func (a *App) held(ctx context.Context, of []blob.Digest) (map[blob.Digest]bool, error) {
	values := make([]string, len(of))
	for i, d := range of {
		values[i] = digest.Format(d)
	}
	held := make(map[blob.Digest]bool)
	for _, room := range a.rooms {
		column := room.DigestColumn()
		if column == "" {
			continue
		}
		some, err := a.store.Held(ctx, room.Table(), column, values)
		if err != nil {
			return nil, fmt.Errorf("looking for rows that hold bytes: %w", err)
		}
		for _, value := range some {
			if sum, ok := digest.Value(value); ok {
				held[sum] = true
			}
		}
	}
	return held, nil
}

// quota returns how many bytes an account may still store. Uploads that end at
// the same moment may together have more.
func (a *App) quota(ctx context.Context, account int64) (left, most int64, err error) {
	most = a.set.MaxAccountBytes
	left = most
	for _, room := range a.rooms {
		column := room.SizeColumn()
		if column == "" {
			continue
		}
		has, err := a.store.Sum(ctx, room.Table(), account, column)
		if err != nil {
			return 0, 0, fmt.Errorf("counting the bytes of an account: %w", err)
		}
		left -= has
	}
	return left, most, nil
}

// sweep sweeps until ctx ends.
func (a *App) sweep(ctx context.Context) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		done, err := a.Sweep(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			a.log.Warn("sweeping bytes", "error", err)
		case done != blob.Swept{}:
			a.log.Info("swept bytes", "trashed", done.Trashed, "restored", done.Restored, "deleted", done.Deleted, "temporary", done.Temporary)
		}
	}
}

// vendors are the media types that name a version.
func (a *App) vendors() []string {
	var all []string
	for _, v := range a.calendar.Versions() {
		if v.Major >= 0 {
			all = append(all, vendorType(v))
		}
	}
	return all
}
