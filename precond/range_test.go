package precond

import (
	"net/http"
	"testing"
	"time"
)

func TestRange(t *testing.T) {
	for _, c := range []struct {
		why      string
		header   http.Header
		etag     string
		modified time.Time
		want     bool
	}{
		{"no condition", header("Range", "bytes=0-1"), tag, modified, true},
		{"the tag it has", header("If-Range", tag), tag, modified, true},
		{"white space around", header("If-Range", " "+tag+" "), tag, modified, true},
		{"another tag", header("If-Range", `"a"`), tag, modified, false},
		{"the client's tag is weak", header("If-Range", "W/"+tag), tag, modified, false},
		{"the resource's tag is weak", header("If-Range", tag), "W/" + tag, modified, false},
		{"weak tags are never enough, though equal", header("If-Range", "W/"+tag), "W/" + tag, modified, false},
		{"a list is not allowed", header("If-Range", tag+", "+tag), tag, modified, false},
		{"nor is a star", header("If-Range", "*"), tag, modified, false},
		{"two lines are a list", header("If-Range", tag, "If-Range", tag), tag, modified, false},
		{"an open quote", header("If-Range", `"7-1-json`), tag, modified, false},
		{"a quote in the wrong place", header("If-Range", `7"`), `7"`, modified, false},
		{"empty", header("If-Range", ""), "", modified, false},
		{"no representation", header("If-Range", tag), "", modified, false},

		{"the date it has", header("If-Range", at), tag, modified, true},
		{"an obsolete form of the date it has", header("If-Range", "Sunday, 06-Nov-94 08:49:37 GMT"), tag, modified, true},
		{"an earlier date", header("If-Range", before), tag, modified, false},
		{"a later date is not exact either", header("If-Range", after), tag, modified, false},
		{"a date where none is known", header("If-Range", at), tag, time.Time{}, false},
		{"the date that stands for unknown", header("If-Range", "Mon, 01 Jan 0001 00:00:00 GMT"), tag, time.Time{}, false},
		{"no date at all", header("If-Range", "yesterday"), tag, modified, false},
		{"two dates", header("If-Range", at, "If-Range", at), tag, modified, false},
	} {
		if got := Range(request("GET", c.header), c.etag, c.modified); got != c.want {
			t.Errorf("%s: Range(%q) of %s = %v, want %v", c.why, c.header, c.etag, got, c.want)
		}
	}
}
