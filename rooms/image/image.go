// Package image is pictures: PNG, JPEG, GIF, WebP and AVIF. What a picture is
// decides how it begins, not what a client says; what is none of these, and
// anything that a browser could run, is refused.
package image

import (
	"mime"
	"strings"

	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
)

// An Image describes a picture.
type Image struct {
	Name        string `json:"name" parley:"required,max=255,line" about:"What it is called; no path."`
	Size        int64  `json:"size" parley:"readonly" about:"The number of bytes."`
	ContentType string `json:"content_type" parley:"readonly,enum=image/png|image/jpeg|image/gif|image/webp|image/avif" about:"The media type, which it is served as."`
	Digest      string `json:"digest" parley:"readonly" about:"The SHA-256 of the bytes, as in the header Repr-Digest."`
}

// Types are the media types of pictures.
func Types() []string {
	return []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"}
}

// Resource is the definition that a service opens.
var Resource = resource.Define("image", "images", resource.Rules[Image]{
	About:   "A picture: PNG, JPEG, GIF, WebP or AVIF.",
	Filters: []string{"name", "digest", "content_type"},
	Check:   check,
	Content: &resource.Content[Image]{
		Types:  Types(),
		Digest: "digest", Size: "size",
		Type: decide,
		Take: take,
		Give: func(p *Image) resource.Bytes {
			return resource.Bytes{Digest: p.Digest, Type: p.ContentType, Name: p.Name, Inline: true}
		},
	},
})

// take enters an upload in the description.
func take(p *Image, up resource.Upload) {
	p.Size, p.ContentType, p.Digest = up.Size, up.Type, up.Digest
	if up.Name != "" {
		p.Name = up.Name
	}
	if p.Name == "" {
		p.Name = "untitled." + strings.TrimPrefix(up.Type, "image/")
	}
}

// check refuses a name that is a path.
func check(next, _ *Image) []problem.FieldError {
	if strings.ContainsAny(next.Name, `/\`) || strings.Trim(next.Name, ". ") == "" {
		return []problem.FieldError{{Pointer: "/name", Detail: "must be a name, not a path"}}
	}
	return nil
}

// decide returns the type of a picture, if it is one that the client says. Of
// application/octet-stream, or nothing, a client says nothing.
func decide(head []byte, declared string) (string, error) {
	said, _, _ := mime.ParseMediaType(declared)
	if said == "image/jpg" {
		said = "image/jpeg" // a common slip
	}
	switch is := Sniff(head); {
	case is == "":
		return "", resource.Invalid(problem.FieldError{Detail: "must be a picture in PNG, JPEG, GIF, WebP or AVIF"})
	case said != "" && said != "application/octet-stream" && said != is:
		return "", resource.Invalid(problem.FieldError{Detail: "must be of the type that Content-Type says"})
	default:
		return is, nil
	}
}

// Sniff returns the media type of a picture by its first bytes, "" where they
// are those of none that is known. 32 of them are enough for most; an AVIF may
// need more.
func Sniff(head []byte) string {
	s := string(head)
	switch {
	case strings.HasPrefix(s, "\x89PNG\r\n\x1a\n"):
		return "image/png"
	case strings.HasPrefix(s, "\xff\xd8\xff"):
		return "image/jpeg"
	case strings.HasPrefix(s, "GIF87a"), strings.HasPrefix(s, "GIF89a"):
		return "image/gif"
	case len(s) >= 16 && s[:4] == "RIFF" && s[8:15] == "WEBPVP8" && strings.Contains(" LX", s[15:16]):
		return "image/webp"
	case avif(s):
		return "image/avif"
	}
	return ""
}

// avif reports whether a file begins with the box that names its brands, avif
// or avis among them (ISO/IEC 14496-12, section 4.3).
func avif(s string) bool {
	if len(s) < 16 || s[4:8] != "ftyp" {
		return false
	}
	size := int(s[0])<<24 | int(s[1])<<16 | int(s[2])<<8 | int(s[3])
	if size < 16 || size%4 != 0 {
		return false
	}
	for at := 8; at+4 <= min(size, len(s)); at += 4 {
		if brand := s[at : at+4]; at != 12 && (brand == "avif" || brand == "avis") { // 12 is a version
			return true
		}
	}
	return false
}
