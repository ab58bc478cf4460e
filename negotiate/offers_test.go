package negotiate

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/parley-api/parley/problem"
)

var (
	jsonYAML = New("application/json", "application/yaml")
	page     = New("text/html", "application/json")
	vendor   = New("application/json", "application/vnd.parley.v1+json", "text/html", "application/yaml")
	levels   = New("text/html;level=1", "text/html", "application/json;profile=\"a,b\"")
	charsets = New("text/html; charset=utf-8", "text/plain;charset=us-ascii", "application/json;charset=utf-16")
)

const chrome = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7"

var choices = []struct {
	why    string
	offers *Offers
	accept []string
	want   string // the offer, or "406" or "400"
}{
	{"no header: the server's first", jsonYAML, nil, "application/json"},
	{"an empty slice is no header", jsonYAML, []string{}, "application/json"},
	{"an empty value says nothing", jsonYAML, []string{""}, "application/json"},
	{"empty lines say nothing", jsonYAML, []string{"", " \t"}, "application/json"},
	{"empty list elements are ignored (RFC 9110, 5.6.1)", jsonYAML, []string{" , ,"}, "application/json"},
	{"anything: the server's first", jsonYAML, []string{"*/*"}, "application/json"},
	{"anything, little liked, is still acceptable", jsonYAML, []string{"*/*;q=0.001"}, "application/json"},
	{"anything, excluded, leaves nothing", jsonYAML, []string{"*/*;q=0"}, "406"},

	{"exactly an offer", jsonYAML, []string{"application/yaml"}, "application/yaml"},
	{"not an offer", jsonYAML, []string{"application/xml"}, "406"},
	{"types are case-insensitive", jsonYAML, []string{"Application/YAML"}, "application/yaml"},
	{"type with any subtype", page, []string{"application/*"}, "application/json"},
	{"another type with any subtype", page, []string{"image/*"}, "406"},
	{"a suffix is part of the subtype, no wildcard", vendor, []string{"application/vnd.parley.v1+json"}, "application/vnd.parley.v1+json"},
	{"an unknown vendor type is not JSON", vendor, []string{"application/vnd.parley.v9+json"}, "406"},

	{"the higher quality wins over the server's order", jsonYAML, []string{"application/json;q=0.5, application/yaml;q=0.6"}, "application/yaml"},
	{"no q is 1", jsonYAML, []string{"application/json;q=0.999, application/yaml"}, "application/yaml"},
	{"Q is case-insensitive", jsonYAML, []string{"application/json;Q=0.1, application/yaml;q=0.2"}, "application/yaml"},
	{"equal quality: the server's order, not the client's", jsonYAML, []string{"application/yaml, application/json"}, "application/json"},
	{"equal quality in other words", jsonYAML, []string{"application/yaml;q=0.50, application/json;q=0.5"}, "application/json"},
	{"named beats */* at equal quality", jsonYAML, []string{"application/yaml, */*"}, "application/yaml"},
	{"named beats type/* at equal quality", jsonYAML, []string{"application/*, application/yaml"}, "application/yaml"},
	{"type/* beats */* at equal quality", page, []string{"*/*, application/*"}, "application/json"},
	{"parameters do not beat the server's order", New("application/json", "text/html;level=1"), []string{"text/html;level=1, application/json"}, "application/json"},
	{"a wildcard of higher quality beats a name", jsonYAML, []string{"application/yaml;q=0.5, */*;q=0.6"}, "application/json"},
	{"axios: JSON is named, text/plain is not offered", page, []string{"application/json, text/plain, */*"}, "application/json"},
	{"a browser gets the page", page, []string{chrome}, "text/html"},
	{"a browser gets the page, though JSON is the server's first", vendor, []string{chrome}, "text/html"},
	{"a browser takes what is there", jsonYAML, []string{chrome}, "application/json"},

	{"q=0 on a name beats */*", jsonYAML, []string{"application/json;q=0, */*"}, "application/yaml"},
	{"q=0 on a name beats */*, in whatever order", jsonYAML, []string{"*/*, application/json;q=0"}, "application/yaml"},
	{"q=0.000 is 0", jsonYAML, []string{"*/*, application/json;q=0.000"}, "application/yaml"},
	{"q=0 on type/* beats */*", page, []string{"*/*, text/*;q=0"}, "application/json"},
	{"a name saves its type from q=0 on type/*", page, []string{"text/html;q=0.1, text/*;q=0"}, "text/html"},
	{"everything offered is excluded", jsonYAML, []string{"application/json;q=0, application/yaml;q=0, */*"}, "406"},
	{"a less specific range does not raise a named quality", jsonYAML, []string{"application/json;q=0.1, application/yaml;q=0.2, */*;q=0.9"}, "application/yaml"},
	{"the same range twice: the higher quality", jsonYAML, []string{"application/yaml;q=0, application/json;q=0.5, application/yaml;q=0.7"}, "application/yaml"},

	{"a range without parameters matches an offer with some", levels, []string{"text/html"}, "text/html;level=1"},
	{"a range with parameters needs them in the offer", levels, []string{"text/html;level=2"}, "406"},
	{"the range with more parameters is the more specific", levels, []string{"text/html;level=1;q=0.3, text/html;q=0.7"}, "text/html"},
	{"a parameter excludes one variant only", levels, []string{"text/html;level=1;q=0, text/html"}, "text/html"},
	{"a parameter on a wildcard", levels, []string{"*/*;level=1"}, "text/html;level=1"},
	{"a parameter name is case-insensitive", levels, []string{"text/html;LEVEL=1"}, "text/html;level=1"},
	{"a parameter value is not", New("text/html;profile=A", "text/plain"), []string{"text/html;profile=a"}, "406"},
	{"a token and a quoted-string are the same value", levels, []string{`text/html;level="1"`}, "text/html;level=1"},
	{"a quoted-pair stands for its character", levels, []string{`text/html;level="\1"`}, "text/html;level=1"},
	{"a comma inside quotes does not end the range", levels, []string{`application/json;profile="a,b", text/html;q=0.1`}, `application/json;profile="a,b"`},
	{"a semicolon and q inside quotes are text", levels, []string{`application/json;profile="a,b;q=0", text/html;q=0.1`}, "text/html;level=1"},
	{"an escaped quote does not end the string", levels, []string{`application/json;profile="\",text/html", text/html;q=0.1`}, "text/html;level=1"},
	{"q before another parameter is the weight all the same (12.5.1)", levels, []string{"text/html;q=0.2;level=1, application/json;q=0.1"}, "text/html;level=1"},
	{"empty parameters are ignored (5.6.6)", jsonYAML, []string{"application/yaml; ;;q=1;"}, "application/yaml"},

	{"charset=utf-8 is ignored on JSON", jsonYAML, []string{"application/json; charset=utf-8"}, "application/json"},
	{"in any case and quoted", jsonYAML, []string{`application/json;Charset="UTF-8"`}, "application/json"},
	{"on a +json type too", vendor, []string{"application/vnd.parley.v1+json;charset=utf-8"}, "application/vnd.parley.v1+json"},
	{"it does not count as more specific", jsonYAML, []string{"application/json;charset=utf-8;q=0.1, application/json, application/yaml;q=0.5"}, "application/json"},
	{"another charset of JSON there is not", jsonYAML, []string{"application/json;charset=iso-8859-1"}, "406"},
	{"not on YAML", jsonYAML, []string{"application/yaml;charset=utf-8"}, "406"},
	{"an offer's own charset matches in any case", charsets, []string{"text/html;charset=UTF-8"}, "text/html; charset=utf-8"},
	{"an offer's own charset is not ignored", charsets, []string{"application/json;charset=utf-8"}, "406"},

	{"lines are one list", jsonYAML, []string{"application/json;q=0.1", "application/yaml;q=0.2"}, "application/yaml"},
	{"white space around everything but the equals sign", jsonYAML, []string{" \tapplication/json ;\tq=0.1 ,\tapplication/yaml\t; q=0.2 "}, "application/yaml"},
	{"no white space at all", jsonYAML, []string{"application/json;q=0.1,application/yaml;q=0.2"}, "application/yaml"},
	{"older Java: a lone star, and q without its zero", jsonYAML, []string{"text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"}, "application/json"},
	{"more than three digits: cut off", jsonYAML, []string{"application/json;q=0.3333, application/yaml;q=0.3334"}, "application/json"},
	{"more than three digits: never cut to 0", jsonYAML, []string{"application/yaml;q=0.0001"}, "application/yaml"},
	{"1.000 is 1", jsonYAML, []string{"application/json;q=0.9, application/yaml;q=1.000"}, "application/yaml"},
	{"100 ranges are allowed", jsonYAML, []string{strings.Repeat("a/b,", 99) + "application/yaml"}, "application/yaml"},
	{"101 are not", jsonYAML, []string{strings.Repeat("a/b,", 100) + "application/yaml"}, "400"},
	{"101 in several lines are not", jsonYAML, slices.Repeat([]string{"*/*"}, 101), "400"},
	{"8 KiB are allowed", jsonYAML, []string{"application/yaml;a=" + strings.Repeat("b", maxBytes-29) + ",text/html"}, "406"},
	{"one byte more is not", jsonYAML, []string{"application/yaml;a=" + strings.Repeat("b", maxBytes-28) + ",text/html"}, "400"},

	{"a word is no range", jsonYAML, []string{"json"}, "400"},
	{"no subtype", jsonYAML, []string{"application/"}, "400"},
	{"no type", jsonYAML, []string{"/json"}, "400"},
	{"any type with one subtype", jsonYAML, []string{"*/json"}, "400"},
	{"white space inside the type", jsonYAML, []string{"application / json"}, "400"},
	{"two types without a comma", jsonYAML, []string{"application/json application/yaml"}, "400"},
	{"a slash too many", jsonYAML, []string{"application/json/x"}, "400"},
	{"one bad range spoils the header", jsonYAML, []string{"application/json, @"}, "400"},
	{"one bad line spoils the header", jsonYAML, []string{"application/json", "?"}, "400"},
	{"q above 1", jsonYAML, []string{"application/json;q=1.001"}, "400"},
	{"q far above 1", jsonYAML, []string{"application/json;q=10"}, "400"},
	{"negative q", jsonYAML, []string{"application/json;q=-1"}, "400"},
	{"q in words", jsonYAML, []string{"application/json;q=high"}, "400"},
	{"q without a value", jsonYAML, []string{"application/json;q="}, "400"},
	{"q of a lone point", jsonYAML, []string{"application/json;q=."}, "400"},
	{"q with an exponent", jsonYAML, []string{"application/json;q=0.1e1"}, "400"},
	{"two weights", jsonYAML, []string{"application/json;q=1;q=0"}, "400"},
	{"white space around the equals sign", jsonYAML, []string{"application/json;q =1"}, "400"},
	{"a parameter without a value", jsonYAML, []string{"application/json;v"}, "400"},
	{"an open quote", jsonYAML, []string{`application/json;v="a, */*`}, "400"},
	{"a backslash at the end", jsonYAML, []string{`application/json;v="a\`}, "400"},
	{"a control character in quotes", jsonYAML, []string{"application/json;v=\"\x01\""}, "400"},
	{"an escaped control character", jsonYAML, []string{"application/json;v=\"\\\x7f\""}, "400"},
	{"text after a quoted-string", jsonYAML, []string{`application/json;v="a"b`}, "400"},
	{"not ASCII", jsonYAML, []string{"application/jsön"}, "400"},
}

// status turns a problem into the word the tables use for it.
func status(t *testing.T, err error) string {
	t.Helper()
	p, ok := err.(*problem.Problem)
	if !ok {
		t.Fatalf("error is a %T, want a *problem.Problem", err)
	}
	return map[int]string{400: "400", 406: "406", 415: "415"}[p.Kind.Status]
}

func TestChoose(t *testing.T) {
	for _, c := range choices {
		got, err := c.offers.Choose(c.accept)
		if err != nil {
			if got != "" {
				t.Errorf("%s: Choose(%.80q) returned %q with an error", c.why, c.accept, got)
			}
			got = status(t, err)
		}
		if got != c.want {
			t.Errorf("%s: Choose(%.80q) = %s, want %s", c.why, c.accept, got, c.want)
		}
	}
}

func TestChooseManyOffers(t *testing.T) {
	types := make([]string, 20)
	for i := range types {
		types[i] = "text/t" + string(rune('a'+i))
	}
	got, err := New(types...).Choose([]string{"text/*;q=0.1, text/tt;q=0.2"})
	if want := "text/tt"; got != want || err != nil {
		t.Errorf("Choose = %q, %v, want %q", got, err, want)
	}
}

func TestChooseProblems(t *testing.T) {
	_, err := jsonYAML.Choose([]string{"text/secret"})
	p := problem.From(err)
	if got, want := p.Allowed, jsonYAML.Types(); !slices.Equal(got, want) {
		t.Errorf("406 allows %q, want %q", got, want)
	}
	p.Allowed[0] = "changed"
	if got, want := jsonYAML.Types()[0], "application/json"; got != want {
		t.Errorf("a change to Allowed reached the offers: %q, want %q", got, want)
	}
	for _, accept := range []string{"secret", strings.Repeat("a/secret,", 200), strings.Repeat("secret", 2000)} {
		_, err := jsonYAML.Choose([]string{accept})
		p := problem.From(err)
		if got, want := p.Parameter, "Accept"; got != want {
			t.Errorf("400 names parameter %q, want %q", got, want)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%v echoes what the client sent", err)
		}
	}
}

func TestTypes(t *testing.T) {
	want := []string{"Application/JSON", "text/html; charset=utf-8"}
	o := New(want...)
	o.Types()[0] = "changed"
	if got := o.Types(); !slices.Equal(got, want) {
		t.Errorf("Types() = %q, want %q, as given", got, want)
	}
}

func TestNewPanics(t *testing.T) {
	for _, c := range []struct {
		why   string
		types []string
	}{
		{"nothing to offer", nil},
		{"empty", []string{"application/json", ""}},
		{"no subtype", []string{"json"}},
		{"a wildcard cannot be produced", []string{"text/*"}},
		{"nor can anything", []string{"*/*"}},
		{"a list is not a type", []string{"application/json, text/html"}},
		{"a weight is the client's to give", []string{"application/json;q=1"}},
		{"a parameter twice", []string{"text/html;a=1;A=2"}},
		{"white space before", []string{" text/html"}},
		{"white space after", []string{"text/html "}},
		{"a parameter without a value", []string{"text/html;charset"}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: New(%q) did not panic", c.why, c.types)
				}
			}()
			New(c.types...)
		}()
	}
}

func TestChooseAllocates(t *testing.T) {
	for _, c := range []struct {
		why    string
		accept []string
	}{
		{"no header", nil},
		{"curl", []string{"*/*"}},
		{"an offer", []string{"application/yaml"}},
		{"axios", []string{"application/json, text/plain, */*"}},
		{"a browser", []string{chrome}},
	} {
		if got := testing.AllocsPerRun(100, func() { vendor.Choose(c.accept) }); got != 0 {
			t.Errorf("%s: Choose allocates %v times, want 0", c.why, got)
		}
	}
}

func BenchmarkChoose(b *testing.B) {
	for _, c := range []struct{ name, accept string }{
		{"any", "*/*"},
		{"exact", "application/json"},
		{"axios", "application/json, text/plain, */*"},
		{"browser", chrome},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			h := http.Header{"Accept": {c.accept}}
			for b.Loop() {
				if _, err := vendor.Choose(h["Accept"]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
