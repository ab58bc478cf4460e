package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// An asset is a file that a page loads. Its name has a hash of its content in
// it: a name is for ever, and so is what a cache keeps under it.
type asset struct {
	name        string // the last segment of its path
	contentType string
	zipped      func() []byte // gzip
	length      string        // of the zipped bytes
	plain       string        // length of the plain ones
	tag         string        // hash of the content
}

// newAsset returns the asset of bytes compressed with gzip as one member of
// less than 4 GiB. Content is called for every response: what is rarely asked
// for need not be held.
func newAsset(name, contentType string, content func() []byte) *asset {
	zipped := content()
	sum := sha256.Sum256(zipped)
	tag := hex.EncodeToString(sum[:6])
	return &asset{
		name: name + "-" + tag, contentType: contentType, zipped: content, tag: tag,
		length: strconv.Itoa(len(zipped)),
		// RFC 1952, section 2.3.1: the last four bytes are the length.
		plain: strconv.Itoa(int(binary.LittleEndian.Uint32(zipped[len(zipped)-4:]))),
	}
}

func zip(text string) func() []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	io.WriteString(w, text)
	w.Close() // a buffer takes everything
	return b.Bytes
}

func (a *asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Add("Vary", "Accept-Encoding")
	zipped := gzipped(r.Header.Values("Accept-Encoding"))
	tag := `"` + a.tag + `"`
	if zipped {
		tag = `"` + a.tag + `-gzip"`
	}
	if unchanged(w, r, tag) {
		return
	}
	h.Set("Content-Type", a.contentType)
	var content io.Reader = bytes.NewReader(a.zipped())
	if zipped {
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Length", a.length)
	} else {
		content, _ = gzip.NewReader(content) // in memory, and whole
		h.Set("Content-Length", a.plain)
	}
	if r.Method == http.MethodGet {
		io.Copy(w, content)
	}
}

// unchanged sets the ETag and answers 304 where the client has it already
// (RFC 9110, section 13.1.2).
func unchanged(w http.ResponseWriter, r *http.Request, tag string) bool {
	w.Header().Set("ETag", tag)
	if !matches(r.Header.Values("If-None-Match"), tag) {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// matches reports whether an If-None-Match field has the tag, which must have
// no comma in it. What is not well formed matches nothing.
func matches(lines []string, tag string) bool {
	for _, line := range lines {
		for element := range strings.SplitSeq(line, ",") {
			element = strings.Trim(element, " \t")
			if element == "*" || strings.TrimPrefix(element, "W/") == tag {
				return true
			}
		}
	}
	return false
}

// gzipped reports whether an Accept-Encoding field allows gzip (RFC 9110,
// section 12.5.3). A weight that is not well formed counts as a refusal, which
// costs bytes and nothing else.
func gzipped(lines []string) bool {
	named, star := false, false
	for _, line := range lines {
		for element := range strings.SplitSeq(line, ",") {
			coding, weight, _ := strings.Cut(element, ";")
			coding = strings.ToLower(strings.Trim(coding, " \t"))
			switch {
			case coding == "gzip" || coding == "x-gzip":
				if !wanted(weight) {
					return false
				}
				named = true
			case coding == "*":
				star = wanted(weight)
			}
		}
	}
	return named || star
}

// wanted reports whether a weight, "q=0.5" or empty for 1, is above zero.
func wanted(weight string) bool {
	weight = strings.Trim(weight, " \t")
	if weight == "" {
		return true
	}
	if len(weight) < 3 || weight[0]|0x20 != 'q' || weight[1] != '=' {
		return false
	}
	q, err := strconv.ParseFloat(weight[2:], 64)
	return err == nil && q > 0 && q <= 1
}
