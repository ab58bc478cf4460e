// Package bucket keeps the bytes of package blob in an S3-compatible bucket, so
// that several nodes share them.
//
// An upload is first made complete in a folder of the node, because its digest,
// which is its name, is known at its end only; then it is sent with its length
// and a checksum. What is read is never stored on the node: a section of a blob
// is a range request to the bucket.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/parley-api/parley/blob"
)

// A Bucket implements blob.Store. It is safe for concurrent use.
type Bucket struct {
	core   minio.Core
	name   string
	prefix string
	spool  *blob.Spool
}

var _ blob.Store = (*Bucket)(nil)

// Open connects to the bucket that an address names, and fails where it cannot
// be reached or does not exist. Spool is a folder for uploads under way; it is
// made if missing.
func Open(ctx context.Context, a *Address, spool string) (*Bucket, error) {
	if err := os.MkdirAll(spool, 0o700); err != nil {
		return nil, fmt.Errorf("bucket: making the folder for uploads: %w", err)
	}
	lookup := minio.BucketLookupAuto
	if a.Path {
		lookup = minio.BucketLookupPath
	}
	client, err := minio.New(a.Host, &minio.Options{
		Creds: credentials.NewStaticV4(a.Key, a.Secret, ""), Secure: a.TLS, Region: a.Region,
		BucketLookup: lookup, MaxRetries: 4,
	})
	if err != nil {
		return nil, fmt.Errorf("bucket: %w", err)
	}
	b := &Bucket{core: minio.Core{Client: client}, name: a.Bucket, prefix: a.Prefix, spool: blob.NewSpool(spool)}
	found, err := client.BucketExists(ctx, a.Bucket)
	if err != nil {
		return nil, failed("looking for the bucket", err)
	}
	if !found {
		return nil, fmt.Errorf("bucket: there is no bucket of this name: make it, or correct the address")
	}
	return b, nil
}

// key is the name of an object.
func (b *Bucket) key(d blob.Digest, p blob.Place) string {
	if p == blob.Trash {
		return b.prefix + "trash/" + d.String()
	}
	return b.prefix + "kept/" + d.String()
}

// Put implements blob.Store. Equal bytes are sent again, which makes them new
// for a sweep.
func (b *Bucket) Put(ctx context.Context, r io.Reader, limit int64, check func(blob.Info) error) (blob.Info, error) {
	file, err := b.spool.Take(ctx, r, limit, check, true)
	if err != nil {
		return blob.Info{}, err
	}
	defer file.Close()
	_, err = b.core.Client.PutObject(ctx, b.name, b.key(file.Info.Digest, blob.Kept), file.File, file.Info.Size,
		minio.PutObjectOptions{
			ContentType: "application/octet-stream", PartSize: 64 << 20, SendContentMd5: true,
			DisableContentSha256: file.Info.Size == 0, // or the library sends a chunk behind the end
		})
	if err != nil {
		return blob.Info{}, failed("storing an object", err)
	}
	return file.Info, nil
}

// Open implements blob.Store.
func (b *Bucket) Open(ctx context.Context, d blob.Digest) (blob.Source, error) {
	for _, place := range []blob.Place{blob.Kept, blob.Trash, blob.Kept} {
		info, err := b.core.StatObject(ctx, b.name, b.key(d, place), minio.StatObjectOptions{})
		if err == nil {
			return &object{bucket: b, digest: d, place: place, size: info.Size}, nil
		}
		if err = failed("looking for an object", err); !errors.Is(err, blob.ErrNotFound) {
			return nil, err
		}
	}
	return nil, blob.ErrNotFound
}

// An object is bytes in the bucket.
type object struct {
	bucket *Bucket
	digest blob.Digest
	place  blob.Place
	size   int64
}

func (o *object) Size() int64  { return o.size }
func (o *object) Close() error { return nil }

// Section makes a range request.
func (o *object) Section(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
	if length == 0 {
		return http.NoBody, nil
	}
	var get minio.GetObjectOptions
	if err := get.SetRange(offset, offset+length-1); err != nil {
		return nil, fmt.Errorf("bucket: asking for a range: %w", err)
	}
	other := blob.Trash
	if o.place == blob.Trash {
		other = blob.Kept
	}
	for _, place := range []blob.Place{o.place, other} { // it may have been moved
		body, _, _, err := o.bucket.core.GetObject(ctx, o.bucket.name, o.bucket.key(o.digest, place), get)
		if err == nil {
			return body, nil
		}
		if err = failed("reading an object", err); !errors.Is(err, blob.ErrNotFound) {
			return nil, err
		}
	}
	return nil, blob.ErrNotFound
}

// List implements blob.Store. Times are those of the bucket's own clock.
func (b *Bucket) List(ctx context.Context) iter.Seq2[blob.Entry, error] {
	return func(yield func(blob.Entry, error) bool) {
		more := true
		b.spool.List(func(e blob.Entry, err error) bool {
			more = yield(e, err) && err == nil
			return more
		})
		for _, place := range []blob.Place{blob.Trash, blob.Kept} {
			if more {
				more = b.list(ctx, place, yield)
			}
		}
	}
}

func (b *Bucket) list(ctx context.Context, place blob.Place, yield func(blob.Entry, error) bool) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	folder := strings.TrimSuffix(b.key(blob.Digest{}, place), blob.Digest{}.String())
	for o := range b.core.Client.ListObjectsIter(ctx, b.name, minio.ListObjectsOptions{Prefix: folder, Recursive: true}) {
		if o.Err != nil {
			return yield(blob.Entry{}, failed("listing objects", o.Err)) && false
		}
		d, ok := blob.Parse(strings.TrimPrefix(o.Key, folder))
		if ok && !yield(blob.Entry{Digest: d, Place: place, Time: o.LastModified}, nil) {
			return false
		}
	}
	return true
}

// Move implements blob.Store. Between the copy and the deletion both are there.
func (b *Bucket) Move(ctx context.Context, e blob.Entry, to blob.Place) error {
	if e.Place == blob.Temporary {
		return b.spool.Remove(e.Name)
	}
	from := b.key(e.Digest, e.Place)
	if to != blob.Gone {
		_, err := b.core.Client.CopyObject(ctx, minio.CopyDestOptions{Bucket: b.name, Object: b.key(e.Digest, to)}, minio.CopySrcOptions{Bucket: b.name, Object: from})
		if err = failed("copying an object", err); err != nil {
			if errors.Is(err, blob.ErrNotFound) {
				return nil
			}
			return err
		}
	}
	err := failed("deleting an object", b.core.RemoveObject(ctx, b.name, from, minio.RemoveObjectOptions{}))
	if errors.Is(err, blob.ErrNotFound) {
		return nil
	}
	return err
}

// failed gives the errors of the bucket their meaning. The texts name no
// credential: the library keeps them out of its errors.
func failed(act string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	answer := minio.ToErrorResponse(err)
	switch {
	case answer.Code == minio.NoSuchKey || answer.Code == "NotFound":
		return blob.ErrNotFound
	case answer.Code == "QuotaExceeded" || answer.Code == "XMinioStorageFull" || answer.StatusCode == http.StatusInsufficientStorage:
		return fmt.Errorf("%w: bucket: %s: %w", blob.ErrFull, act, err)
	case answer.StatusCode >= 400 && answer.StatusCode < 500 && answer.StatusCode != http.StatusTooManyRequests:
		return fmt.Errorf("bucket: %s: %w", act, err)
	}
	return fmt.Errorf("%w: %s: %w", blob.ErrUnavailable, act, err)
}
