package resource

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"

	"github.com/parley-api/parley/blob"
	"github.com/parley-api/parley/digest"
	"github.com/parley-api/parley/idempotency"
	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/version"
)

// TypeForm is the media type of a form with a file.
const TypeForm = "multipart/form-data"

// slack is what a form may have besides its file, in bytes.
const slack = 1 << 20

// headSize is how many bytes Content.Type is shown.
const headSize = 512

// An intake is an upload on its way in.
type intake struct {
	room *Room
	call *Call
	body *bufio.Reader

	sums    []digest.Sum // that the body must have
	overall hash.Hash    // of the body of a form; nil where nobody asks

	left, most int64 // bytes that the account may still store, and in all; 0 most: no matter
	up         Upload
	print      []byte // what the bytes are, for an Idempotency-Key
}

// absorb reads the bytes of a request and stores them. Nothing refers to them
// yet. Freed is how many bytes they take the place of.
func (rm *Room) absorb(c *Call, name string, freed int64) (Upload, error) {
	in := &intake{room: rm, call: c, up: Upload{Name: name}}
	if rm.Quota != nil {
		var err error
		if in.left, in.most, err = rm.Quota(c.Context(), rm.account(c)); err != nil {
			return Upload{}, err
		}
		in.left += freed
	}
	media, parameters, err := in.prepare()
	if err != nil {
		return Upload{}, err
	}
	if media == TypeForm {
		err = in.form(parameters["boundary"])
	} else {
		if name == "" {
			in.up.Name, err = fileName(c.R.Header["Content-Disposition"])
		}
		if err == nil {
			err = in.file(in.body, mime.FormatMediaType(media, parameters))
		}
	}
	if err == nil {
		err = checkName(in.up.Name)
	}
	if err != nil {
		return Upload{}, rm.stopped(err)
	}
	if c.Replay != nil {
		c.Replay.Print = idempotency.Fingerprint(c.R.Method, c.Version.Name+c.R.URL.EscapedPath(), in.up.Type, append(in.print, in.up.Name...))
	}
	return in.up, nil
}

// prepare looks at what the request says of its body.
func (in *intake) prepare() (media string, parameters map[string]string, err error) {
	c, limit := in.call, in.room.content.limit
	for _, coding := range c.R.Header["Content-Encoding"] {
		if !strings.EqualFold(strings.TrimSpace(coding), "identity") {
			p := problem.UnsupportedMedia.New("The request body has a content coding, and none is accepted here.")
			p.Allowed = []string{"identity"}
			return "", nil, p.Set("Accept-Encoding", "identity")
		}
	}
	if len(c.R.Header["Content-Range"]) > 0 {
		p := problem.BadRequest.New("A part of a resource cannot be sent: Content-Range has no meaning here.")
		p.Parameter = "Content-Range"
		return "", nil, p
	}
	types := c.R.Header["Content-Type"]
	if len(types) > 0 && types[0] != "" {
		media, parameters, err = mime.ParseMediaType(types[0])
		if err != nil || len(types) > 1 || !strings.Contains(media, "/") || len(types[0]) > 255 {
			p := problem.BadRequest.New("The Content-Type header is not one media type.")
			p.Parameter = "Content-Type"
			return "", nil, p
		}
	}
	if media == TypeForm {
		limit += slack
	}
	if c.R.ContentLength > limit {
		return "", nil, in.room.tooLarge()
	}
	if media != TypeForm && in.most > 0 && c.R.ContentLength > in.left {
		return "", nil, in.full()
	}
	for _, name := range []string{"Content-Digest", "Repr-Digest"} {
		sum, ok, err := digest.Parse(name, c.R.Header[name])
		if err != nil {
			return "", nil, err
		}
		if ok {
			in.sums = append(in.sums, sum)
		}
	}
	stream := io.Reader(&capped{c.Stream, limit})
	if media == TypeForm && len(in.sums) > 0 {
		in.overall = sha256.New()
		stream = io.TeeReader(stream, in.overall)
	}
	in.body = bufio.NewReaderSize(stream, 4<<10)
	return media, parameters, nil
}

// A capped reader fails where there is more than it may read.
type capped struct {
	io.Reader
	left int64
}

func (r *capped) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if r.left -= int64(n); r.left < 0 {
		return 0, blob.ErrTooLarge
	}
	return n, err
}

// file stores one run of bytes.
func (in *intake) file(r io.Reader, declared string) error {
	content := in.room.content
	body, ok := r.(*bufio.Reader)
	if !ok {
		body = bufio.NewReaderSize(r, 4<<10)
	}
	head, err := body.Peek(headSize)
	if err != nil && err != io.EOF {
		return err
	}
	in.up.Type = declared
	if content.kind != nil {
		if in.up.Type, err = content.kind(head, declared); err != nil {
			return err
		}
	}
	limit := content.limit
	if in.most > 0 && in.left < limit {
		if limit = in.left; limit <= 0 && len(head) > 0 {
			return in.full()
		}
	}
	info, err := in.room.Blobs.Put(in.call.Context(), body, limit, func(info blob.Info) error {
		if in.overall != nil {
			return nil
		}
		return in.compare(info.Digest)
	})
	if errors.Is(err, blob.ErrTooLarge) && limit < content.limit {
		return in.full()
	}
	if err != nil {
		return err
	}
	in.up.Size, in.up.Digest, in.print = info.Size, digest.Format(info.Digest), info.Digest[:]
	return nil
}

// full is the answer to an account that has its share.
func (in *intake) full() error {
	p := problem.StorageFull.New("The account has no room left for so many bytes. Delete what is not needed, or ask for more room.")
	p.Maximum = in.most
	return p
}

// compare holds a digest against those that were promised.
func (in *intake) compare(sum digest.Sum) error {
	for _, want := range in.sums {
		if sum != want {
			return problem.DigestMismatch.New("The bytes that arrived have another digest than the request says.")
		}
	}
	return nil
}

// form reads a form: one file, and perhaps the field name.
func (in *intake) form(boundary string) error {
	if boundary == "" {
		return malformedForm(nil)
	}
	parts := multipart.NewReader(in.body, boundary)
	var name, field string
	for files := 0; ; {
		part, err := parts.NextRawPart()
		if err == io.EOF && files == 0 {
			return Invalid(problem.FieldError{Detail: "must have a file: a part with a filename"})
		}
		if err == io.EOF {
			break
		}
		if err != nil || part.FormName() == "" {
			return malformedForm(err)
		}
		switch {
		case part.FileName() != "":
			if files++; files > 1 {
				return Invalid(problem.FieldError{Detail: "must have one file only"})
			}
			name = lastSegment(part.FileName())
			err = in.file(part, part.Header.Get("Content-Type"))
		case part.FormName() == "name":
			field, err = readField(part)
		default:
			return Invalid(problem.FieldError{Detail: "must have no fields but a file and name"})
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return malformedForm(err)
		}
		if err != nil {
			return err
		}
	}
	in.up.Name = cmp.Or(in.up.Name, field, name)
	return in.finish()
}

// readField reads the value of a field that is a name; of one that is too long,
// as much as shows that it is.
func readField(r io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, 4*maxName+1))
	return string(b), err
}

// finish reads what stands behind a form, where somebody asks for the digest of
// all of it.
func (in *intake) finish() error {
	if in.overall == nil {
		return nil
	}
	if _, err := io.Copy(io.Discard, in.body); err != nil {
		return err
	}
	return in.compare(digest.Sum(in.overall.Sum(nil)))
}

// malformedForm is the answer to a form that does not parse, unless the reason
// has an answer of its own.
func malformedForm(err error) error {
	if _, ok := errors.AsType[*problem.Problem](err); ok || errors.Is(err, blob.ErrTooLarge) {
		return err
	}
	return problem.BadRequest.New("The body does not parse as a form with a file.").Because(err)
}

// stopped gives the errors of an upload their answer. Others are left to the
// hall.
func (rm *Room) stopped(err error) error {
	if errors.Is(err, blob.ErrTooLarge) {
		return rm.tooLarge()
	}
	return err
}

func (rm *Room) tooLarge() error {
	p := problem.ContentTooLarge.Newf("At most %d bytes can be stored as one of the %s.", rm.content.limit, rm.plural)
	p.Maximum = rm.content.limit
	return p
}

// nameParameter reads the query of an upload, which may have a name.
func nameParameter(c *Call) (string, error) {
	rest := version.Strip(c.R.URL.RawQuery)
	if rest == "" {
		return "", nil
	}
	values, err := url.ParseQuery(rest)
	if err != nil {
		return "", problem.InvalidParameter.New("The query is malformed.")
	}
	for name, v := range values {
		if name != "name" || len(v) != 1 || v[0] == "" {
			p := problem.InvalidParameter.New("The only query parameter here is name, once and not empty.")
			p.Parameter, p.Allowed = name, []string{"name"}
			return "", p
		}
	}
	name := values.Get("name")
	return name, checkName(name)
}

// fileName reads the name that a Content-Disposition header gives to the bytes
// of a request, without a path.
func fileName(lines []string) (string, error) {
	if len(lines) == 0 {
		return "", nil
	}
	_, parameters, err := mime.ParseMediaType(lines[0])
	if err != nil || len(lines) > 1 {
		p := problem.BadRequest.New("The Content-Disposition header is malformed.")
		p.Parameter = "Content-Disposition"
		return "", p
	}
	return lastSegment(parameters["filename"]), nil
}

// lastSegment takes the path off a name, as RFC 6266, section 4.3 asks.
func lastSegment(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	if strings.Trim(name, ". ") == "" {
		return ""
	}
	return name
}
