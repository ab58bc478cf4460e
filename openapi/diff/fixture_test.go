package diff

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// A fixture is a pair of descriptions and what is expected of their
// comparison: the lines "why:", "row:" (of the contract's table) and "want:",
// one for each change, as class, rule and subject.
type fixture struct {
	name, why, row string
	want           []string
	old, new       []byte
}

// fixtures reads a folder of testdata.
func fixtures(t testing.TB, folder string) []fixture {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures in %s: %v", folder, err)
	}
	var all []fixture
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f := fixture{name: strings.TrimSuffix(filepath.Base(file), ".txtar")}
		for line := range strings.Lines(string(archive.Comment)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			switch key {
			case "why":
				f.why = value
			case "row":
				f.row = value
			case "want":
				f.want = append(f.want, value)
			default:
				t.Fatalf("%s: the line %q", file, line)
			}
		}
		if f.why == "" || len(archive.Files) != 2 {
			t.Fatalf("%s needs a reason and two descriptions", file)
		}
		f.old, f.new = archive.Files[0].Data, archive.Files[1].Data
		all = append(all, f)
	}
	return all
}

// compare reads and compares.
func compare(t testing.TB, old, new []byte) *Report {
	t.Helper()
	a, err := Read("old", old)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Read("new", new)
	if err != nil {
		t.Fatal(err)
	}
	report, err := Compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// lines are the changes in the form of a fixture.
func lines(r *Report) []string {
	var all []string
	for _, c := range r.Changes {
		all = append(all, fmt.Sprintf("%s %s %s", c.Rule.Class, c.Rule.ID, c.Subject))
	}
	return all
}

func check(t *testing.T, f *fixture, report *Report, want []string) {
	t.Helper()
	got, want := slices.Sorted(slices.Values(lines(report))), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("%s\ngot:\n  %s\nwant:\n  %s", f.why, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// TestTable holds every row of the contract's table against pairs of
// descriptions.
func TestTable(t *testing.T) {
	classes := map[string]Class{
		rowRemoveField: Breaking, rowChangeType: Breaking, rowRemovePath: Breaking, rowSemantics: Breaking, rowRequire: Breaking,
		rowErrors: Breaking, rowTighten: Breaking, rowAddField: NonBreaking, rowAddRequest: NonBreaking, rowAddPath: NonBreaking,
		rowRelax: NonBreaking, rowEnum: Typed,
	}
	shown := make(map[string]bool)
	for _, f := range fixtures(t, "row") {
		t.Run(f.name, func(t *testing.T) {
			report := compare(t, f.old, f.new)
			check(t, &f, report, f.want)
			want, ok := classes[f.row]
			if !ok {
				t.Fatalf("%q is no row of the table", f.row)
			}
			shown[f.row] = true
			if got, _ := report.Worst(); got != want {
				t.Errorf("%s: got %v, want %v", f.why, got, want)
			}
			if got := report.Changes[0].Rule.Row; got != f.row {
				t.Errorf("%s: the rule names the row %q, want %q", f.why, got, f.row)
			}
		})
	}
	for row := range classes {
		if !shown[row] {
			t.Errorf("no pair shows the row %q", row)
		}
	}
}

func TestSurface(t *testing.T) {
	for _, f := range fixtures(t, "surface") {
		t.Run(f.name, func(t *testing.T) { check(t, &f, compare(t, f.old, f.new), f.want) })
	}
}

func TestGraphQL(t *testing.T) {
	for _, f := range fixtures(t, "graphql") {
		t.Run(f.name, func(t *testing.T) { check(t, &f, compare(t, f.old, f.new), f.want) })
	}
}

// placed puts a schema where a client sends it, receives it or is told of a
// failure.
func placed(z zone, schema []byte) []byte {
	places := map[zone]string{
		request:  `{"requestBody": {"content": {"a/b": %s}}, "responses": {"200": {}}}`,
		response: `{"responses": {"200": {"content": {"a/b": %s}}}}`,
		failure:  `{"responses": {"422": {"content": {"a/b": %s}}}}`,
	}
	op := fmt.Sprintf(places[z], `{"schema": {"$ref": "#/components/schemas/Thing"}}`)
	return fmt.Appendf(nil, "openapi: 3.1.0\npaths: {/things: {post: %s}}\ncomponents: {schemas: {Thing: %s}}\n", op, strings.TrimSpace(string(schema)))
}

// TestSchema compares each pair of schemas in every zone.
func TestSchema(t *testing.T) {
	for _, f := range fixtures(t, "schema") {
		for _, z := range []zone{request, response, failure} {
			t.Run(f.name+"/"+string(z), func(t *testing.T) {
				var want []string
				for _, line := range f.want {
					if _, rule, _ := strings.Cut(line, " "); strings.HasPrefix(rule, string(z)+"-") || strings.Contains(rule, "deprecated ") {
						want = append(want, line)
					}
				}
				check(t, &f, compare(t, placed(z, f.old), placed(z, f.new)), want)
			})
		}
	}
}

// TestRules holds the catalogue together: every rule is complete and unique,
// and a fixture shows it.
func TestRules(t *testing.T) {
	shown := make(map[string]bool)
	for _, folder := range []string{"row", "surface", "schema", "graphql"} {
		for _, f := range fixtures(t, folder) {
			for _, line := range f.want {
				fields := strings.Fields(line)
				shown[fields[1]] = true
			}
		}
	}
	seen, messages := make(map[string]bool), make(map[string]string)
	for _, r := range Rules() {
		if seen[r.ID] {
			t.Errorf("%s is there twice", r.ID)
		}
		seen[r.ID] = true
		if other := messages[r.Message]; other != "" {
			t.Errorf("%s and %s have one message", r.ID, other)
		}
		messages[r.Message] = r.ID
		if r.Row == "" || !strings.HasSuffix(r.Message, ".") {
			t.Errorf("%s is incomplete: %+v", r.ID, r)
		}
		if (r.Advice == "") != (r.Class == NonBreaking) {
			t.Errorf("%s is %v; its advice is %q", r.ID, r.Class, r.Advice)
		}
		if !shown[r.ID] {
			t.Errorf("no fixture shows %s", r.ID)
		}
	}
}
