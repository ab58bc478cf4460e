// Package file is bytes that somebody wants kept, of any type. They come back
// as they were sent, and always to be saved: nothing that was uploaded is ever
// shown or run by a browser.
package file

import (
	"strings"

	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
)

// Served is the media type of every file, whatever type was declared.
const Served = "application/octet-stream"

// A File describes bytes.
type File struct {
	Name        string `json:"name" parley:"required,max=255,line" about:"What it is called; no path."`
	Size        int64  `json:"size" parley:"readonly" about:"The number of bytes."`
	ContentType string `json:"content_type" parley:"readonly" about:"The media type that was declared. The bytes are served as application/octet-stream."`
	Digest      string `json:"digest" parley:"readonly" about:"The SHA-256 of the bytes, as in the header Repr-Digest."`
}

// Resource is the definition that a service opens.
var Resource = resource.Define("file", "files", resource.Rules[File]{
	About:   "Bytes of any type, kept as they are.",
	Filters: []string{"name", "digest"},
	Check:   check,
	Content: &resource.Content[File]{
		Types:  []string{Served},
		Digest: "digest", Size: "size",
		Take: take,
		Give: func(f *File) resource.Bytes {
			return resource.Bytes{Digest: f.Digest, Type: Served, Name: f.Name}
		},
	},
})

// take enters an upload in the description.
func take(f *File, up resource.Upload) {
	f.Size, f.ContentType, f.Digest = up.Size, up.Type, up.Digest
	if f.ContentType == "" {
		f.ContentType = Served
	}
	if up.Name != "" {
		f.Name = up.Name
	}
	if f.Name == "" {
		f.Name = "untitled"
	}
}

// check refuses a name that is a path.
func check(next, _ *File) []problem.FieldError {
	if strings.ContainsAny(next.Name, `/\`) || strings.Trim(next.Name, ". ") == "" {
		return []problem.FieldError{{Pointer: "/name", Detail: "must be a name, not a path"}}
	}
	return nil
}
