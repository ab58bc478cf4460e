package negotiate

import (
	"cmp"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The model of Choose: the grammar as regular expressions, and every rule in a
// line of its own, however slow.

const (
	tokenRE  = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+"
	quotedRE = `"(?:[\t !#-\[\]-~\x{80}-\x{10FFFF}]|\\[\t -~\x{80}-\x{10FFFF}])*"`
	paramRE  = `[ \t]*;[ \t]*(?:` + tokenRE + `=(?:` + tokenRE + `|` + quotedRE + `))?`
	rangeRE  = `(?:` + tokenRE + `/` + tokenRE + `|\*)(?:` + paramRE + `)*`
)

var (
	lineModel  = regexp.MustCompile(`^[ \t]*(?:` + rangeRE + `)?(?:[ \t]*,[ \t]*(?:` + rangeRE + `)?)*[ \t]*$`)
	rangeModel = regexp.MustCompile(rangeRE)
	paramModel = regexp.MustCompile(`;[ \t]*(` + tokenRE + `)=(` + tokenRE + `|` + quotedRE + `)`)
	pairModel  = regexp.MustCompile(`(?s)\\(.)`)
	zeroModel  = regexp.MustCompile(`^(?:0(?:\.0*)?|\.0+)$`)
	partModel  = regexp.MustCompile(`^0?\.([0-9]+)$`)
	oneModel   = regexp.MustCompile(`^1(?:\.0*)?$`)
)

type modelRange struct {
	kind, sub string
	params    [][2]string
	q         string // three digits after the point, or "1"
}

func modelParams(s string) (list [][2]string) {
	for _, m := range paramModel.FindAllStringSubmatch(s, -1) {
		value := m[2]
		if value[0] == '"' {
			value = pairModel.ReplaceAllString(value[1:len(value)-1], "$1")
		}
		list = append(list, [2]string{strings.ToLower(m[1]), value})
	}
	return list
}

func modelQuality(s string) (string, bool) {
	switch {
	case zeroModel.MatchString(s):
		return "000", true
	case oneModel.MatchString(s):
		return "1", true
	case partModel.MatchString(s):
		digits := (partModel.FindStringSubmatch(s)[1] + "000")[:3]
		if digits == "000" {
			digits = "001"
		}
		return digits, true
	}
	return "", false
}

func modelParse(accept []string) (ranges []modelRange, ok bool) {
	if len(strings.Join(accept, "")) > 8192 {
		return nil, false
	}
	for _, line := range accept {
		if !lineModel.MatchString(line) {
			return nil, false
		}
		for _, s := range rangeModel.FindAllString(line, -1) {
			name, params, _ := strings.Cut(s, ";")
			name = strings.Trim(name, " \t")
			if name == "*" {
				name = "*/*"
			}
			r := modelRange{q: "1"}
			r.kind, r.sub, _ = strings.Cut(strings.ToLower(name), "/")
			if r.kind == "*" && r.sub != "*" {
				return nil, false
			}
			weights := 0
			for _, p := range modelParams(";" + params) {
				if p[0] != "q" {
					r.params = append(r.params, p)
					continue
				}
				if r.q, ok = modelQuality(p[1]); !ok {
					return nil, false
				}
				weights++
			}
			if weights > 1 {
				return nil, false
			}
			ranges = append(ranges, r)
		}
	}
	return ranges, len(ranges) <= 100
}

// modelMatch returns whether r matches the offer, the class of the match, and
// the number of parameters that took part in it.
func modelMatch(r modelRange, offer string) (ok bool, class, params int) {
	name, _, _ := strings.Cut(strings.ToLower(offer), ";")
	kind, sub, _ := strings.Cut(strings.Trim(name, " "), "/")
	has := map[string]string{}
	for _, p := range modelParams(offer) {
		has[p[0]] = p[1]
	}
	class = 2
	if r.kind == "*" {
		class = 0
	} else if r.sub == "*" {
		class = 1
	}
	if class > 0 && r.kind != kind || class > 1 && r.sub != sub {
		return false, 0, 0
	}
	for _, p := range r.params {
		value, present := has[p[0]]
		isJSON := sub == "json" || strings.HasSuffix(sub, "+json")
		switch {
		case !present && p[0] == "charset" && isJSON && strings.ToLower(p[1]) == "utf-8":
		case present && p[0] == "charset" && strings.EqualFold(value, p[1]):
			params++
		case present && value == p[1]:
			params++
		default:
			return false, 0, 0
		}
	}
	return true, class, params
}

func model(offers, accept []string) string {
	ranges, ok := modelParse(accept)
	if !ok {
		return "400"
	}
	if len(ranges) == 0 {
		return offers[0]
	}
	type verdict struct {
		offer         string
		class, params int
		q             string
	}
	var verdicts []verdict
	for _, offer := range offers {
		var matches []verdict
		for _, r := range ranges {
			if ok, class, params := modelMatch(r, offer); ok {
				matches = append(matches, verdict{offer, class, params, r.q})
			}
		}
		slices.SortFunc(matches, func(a, b verdict) int { // the most specific first
			return cmp.Or(b.class-a.class, b.params-a.params, modelCompare(b.q, a.q))
		})
		if len(matches) > 0 && matches[0].q != "000" {
			verdicts = append(verdicts, matches[0])
		}
	}
	slices.SortStableFunc(verdicts, func(a, b verdict) int { // the best first
		return cmp.Or(modelCompare(b.q, a.q), b.class-a.class)
	})
	if len(verdicts) == 0 {
		return "406"
	}
	return verdicts[0].offer
}

// modelCompare orders qualities: "1" above every fraction.
func modelCompare(a, b string) int {
	return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
}

func TestModel(t *testing.T) {
	for _, c := range choices {
		if got := model(c.offers.Types(), c.accept); got != c.want {
			t.Errorf("%s: the model chooses %s, want %s", c.why, got, c.want)
		}
	}
}

// TestChooseLikeModel tries headers that are put together from likely pieces,
// which random bytes seldom are.
func TestChooseLikeModel(t *testing.T) {
	types := []string{"*/*", "*", "text/*", "application/*", "text/html", "Application/JSON", "application/json",
		"application/yaml", "application/vnd.parley.v1+json", "image/png", "*/json"}
	params := []string{"level=1", "LEVEL=\"1\"", "level=2", "charset=utf-8", "charset=\"UTF-8\"", "charset=us-ascii",
		`profile="a,b"`, `profile="a\,b"`, "v=1", "v"}
	weights := []string{"q=0", "q=0.5", "Q=.5", "q=1", "q=1.0", "q=0.5001", "q=0.00001", "q=2"}
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	space := func() string { return pick([]string{"", "", "", " ", "\t "}) }
	for range 2_000 {
		var lines []string
		for range 1 + random.IntN(2) {
			var ranges []string
			for range random.IntN(4) {
				s := space() + pick(types)
				for range random.IntN(2) * random.IntN(3) {
					s += space() + ";" + space() + pick(params)
				}
				if random.IntN(2) == 0 {
					s += space() + ";" + space() + pick(weights)
				}
				ranges = append(ranges, s+space())
			}
			lines = append(lines, strings.Join(ranges, ","))
		}
		compare(t, lines)
	}
}

func compare(t *testing.T, accept []string) {
	t.Helper()
	for _, o := range []*Offers{jsonYAML, page, vendor, levels, charsets} {
		got, err := o.Choose(accept)
		if err != nil {
			got = status(t, err)
		}
		if want := model(o.Types(), accept); got != want {
			t.Errorf("offers %q: Choose(%q) = %s, want %s", o.Types(), accept, got, want)
		}
	}
}

func FuzzChoose(f *testing.F) {
	for _, c := range choices {
		f.Add(strings.Join(c.accept, "\n"))
	}
	f.Fuzz(func(t *testing.T, s string) { compare(t, strings.Split(s, "\n")) })
}
