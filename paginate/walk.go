package paginate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/parley-api/parley/problem"
)

// Options steers [All]. Nil means the defaults.
type Options struct {
	// Header is sent with every request, for example Authorization. Accept
	// is application/json where it is not set here.
	Header http.Header

	// MaxWait bounds the time spent waiting for one page that was answered
	// with 429 or 503. 0 means one minute; a negative value, not to wait.
	MaxWait time.Duration

	// MaxBytes bounds the body of one page. 0 means 16 MiB.
	MaxBytes int64
}

// All walks a remote list in any of the three styles, from the page at
// address to the last, and yields its items. The style is the one the server
// answers in: next_cursor, next_page_token, or else the link next. The items
// are those of data, or of the array named like the last segment of the path,
// or of the only array there is.
//
// A page that is refused with 429 or 503 is asked for again after its
// Retry-After, within Options.MaxWait. Any other error is yielded once, with
// the zero T, and ends the walk: a [Failure] where the server refused, and
// ctx's error where the context ended. A next link to another origin is an
// error, so that Options.Header goes nowhere it was not meant to. A nil
// client means [http.DefaultClient].
func All[T any](ctx context.Context, client *http.Client, address string, opts *Options) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		w := walk{client: cmp.Or(client, http.DefaultClient)}
		if opts != nil {
			w.opts = *opts
		}
		var zero T
		at, err := url.Parse(address)
		if err != nil {
			yield(zero, fmt.Errorf("reading the address of a list: %w", err))
			return
		}
		for at != nil {
			page, err := w.fetch(ctx, at)
			var items []T
			if err == nil {
				err = page.decode(&items)
			}
			if err != nil {
				yield(zero, fmt.Errorf("reading a page of a list: %w", err))
				return
			}
			for _, item := range items {
				if err := ctx.Err(); err != nil {
					yield(zero, err)
					return
				}
				if !yield(item, nil) {
					return
				}
			}
			if at, err = page.next(); err != nil {
				yield(zero, fmt.Errorf("turning a page of a list: %w", err))
				return
			}
		}
	}
}

// A Failure is the answer of a server that refused a page. It is not a
// [problem.Problem], so that a service which walks another's list does not
// pass the other's refusal on as its own. errors.Is finds the kind:
//
//	errors.Is(err, problem.ExpiredCursor.New(""))
type Failure struct {
	Status int    // HTTP status code
	Type   string // these are empty where the body was no problem detail
	Title  string
	Detail string
}

// Error returns the status, the title and the detail.
func (f *Failure) Error() string {
	s := "status " + strconv.Itoa(f.Status)
	if f.Title != "" {
		s += ": " + f.Title
	}
	if f.Detail != "" {
		s += ": " + f.Detail
	}
	return s
}

// Is reports whether target is a problem of the type that the server named.
func (f *Failure) Is(target error) bool {
	p, ok := target.(*problem.Problem)
	return ok && f.Status == p.Kind.Status && strings.HasSuffix(f.Type, p.Kind.Type())
}

// A walk is what stays the same from page to page.
type walk struct {
	client *http.Client
	opts   Options
}

// fetch gets one page, waiting where the server asks for it.
func (w *walk) fetch(ctx context.Context, at *url.URL) (*remote, error) {
	left := w.opts.MaxWait
	if left == 0 {
		left = time.Minute
	}
	for pause := 100 * time.Millisecond; ; pause *= 2 {
		page, after, err := w.get(ctx, at)
		if after < 0 {
			return page, err
		}
		// The pause grows so that a server which says 0 is not hammered.
		after = max(after, pause)
		if after > left {
			return nil, err
		}
		left -= after
		timer := time.NewTimer(after)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
	}
}

// get makes one request. A page that may be asked for again has after >= 0.
func (w *walk) get(ctx context.Context, at *url.URL) (page *remote, after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, -1, err
	}
	if w.opts.Header != nil {
		req.Header = w.opts.Header.Clone()
	}
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json")
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, -1, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		after = -1
		if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable {
			after = retryAfter(resp.Header.Get("Retry-After"))
		}
		return nil, after, failure(resp)
	}
	limit := w.opts.MaxBytes
	if limit <= 0 {
		limit = 16 << 20
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, -1, err
	}
	if int64(len(body)) > limit {
		return nil, -1, fmt.Errorf("the body is larger than %d bytes", limit)
	}
	page = &remote{at: at, from: resp.Request.URL}
	return page, -1, page.parse(body)
}

// retryAfter reads a Retry-After header, RFC 9110, section 10.2.3: seconds or
// a date. What it cannot read, and a time that has passed, mean at once.
func retryAfter(value string) time.Duration {
	if seconds, ok := number(value); ok {
		return time.Duration(min(seconds, int64(24*time.Hour/time.Second))) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(time.Until(date), 0)
	}
	return 0
}

// failure reads the problem detail of a refused page, as far as there is one.
func failure(resp *http.Response) *Failure {
	f := &Failure{Status: resp.StatusCode}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil || !strings.HasPrefix(resp.Header.Get("Content-Type"), problem.ContentType) {
		return f
	}
	var detail struct{ Type, Title, Detail string }
	if json.Unmarshal(body, &detail) == nil {
		f.Type, f.Title, f.Detail = detail.Type, detail.Title, detail.Detail
	}
	return f
}

// A remote is one page as a server sent it.
type remote struct {
	at, from *url.URL // asked for, and answered from after redirects
	members  map[string]json.RawMessage
}

func (r *remote) parse(body []byte) error { return json.Unmarshal(body, &r.members) }

// decode reads the items into a pointer to a slice.
func (r *remote) decode(items any) error {
	raw, ok := r.members["data"]
	if !ok {
		raw, ok = r.members[path.Base(r.at.Path)]
	}
	if !ok {
		arrays := 0
		for _, member := range r.members {
			if bytes.HasPrefix(member, []byte("[")) {
				raw = member
				arrays++
			}
		}
		ok = arrays == 1
	}
	if !ok {
		return errors.New("the body has no array of items")
	}
	return json.Unmarshal(raw, items)
}

// next returns the address of the next page; nil means that there is none.
func (r *remote) next() (*url.URL, error) {
	var pagination, links map[string]json.RawMessage
	json.Unmarshal(r.members["pagination"], &pagination) // absent or not an object: nil
	if raw, ok := pagination["next_cursor"]; ok {
		return r.with("cursor", raw)
	}
	if raw, ok := r.members["next_page_token"]; ok {
		return r.with("page_token", raw)
	}
	json.Unmarshal(r.members["_links"], &links)
	var link string
	if raw, ok := links["next"]; ok {
		if err := json.Unmarshal(raw, &link); err != nil {
			return nil, fmt.Errorf("the next link is not a string: %w", err)
		}
	}
	if link == "" {
		return nil, nil
	}
	next, err := r.from.Parse(link)
	if err != nil {
		return nil, fmt.Errorf("the next link is not a URL: %w", err)
	}
	if next.Scheme != r.at.Scheme || next.Host != r.at.Host {
		return nil, errors.New("the next link leads to another origin")
	}
	return r.advance(next)
}

// with returns the page's address with one parameter set to a JSON string.
func (r *remote) with(name string, raw json.RawMessage) (*url.URL, error) {
	var value *string
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil, fmt.Errorf("the next page's %s is not a string: %w", name, err)
	}
	if value == nil || *value == "" {
		return nil, nil
	}
	next := *r.at
	query := next.Query()
	query.Set(name, *value)
	next.RawQuery = query.Encode()
	return r.advance(&next)
}

// advance refuses a next page that is the same page again.
func (r *remote) advance(next *url.URL) (*url.URL, error) {
	if next.String() == r.at.String() {
		return nil, errors.New("the list does not advance: its next page is the same page")
	}
	return next, nil
}
