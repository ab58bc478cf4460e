package user

import (
	"reflect"
	"slices"
	"testing"

	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

func TestMembers(t *testing.T) {
	calendar := version.BuiltIn()
	room := Resource.Open(resource.Options{Calendar: calendar})
	one, name, email := int64(1), int64(200), int64(254)
	want := []resource.Member{
		{Name: "name", Type: "string", About: "What the person is called.", Required: true, Line: true, Min: &one, Max: &name},
		{Name: "email", Type: "string", Format: "email", About: "Unique within the account.", Required: true, Min: &one, Max: &email},
	}
	for _, v := range calendar.Versions() { // it is the same in every version
		if got := room.Members(v); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got  %+v\nwant %+v", v, got, want)
		}
	}
}

func TestDefinition(t *testing.T) {
	if got, want := Resource.EventTypes(), []string{"user.created", "user.updated", "user.deleted"}; !slices.Equal(got, want) {
		t.Errorf("event types %q, want %q", got, want)
	}
	if got, want := Resource.Table().Columns, []store.Column{{Name: "email", Kind: store.Text, Unique: true, Index: true}}; !slices.Equal(got, want) {
		t.Errorf("columns %+v, want %+v", got, want)
	}
	if got, want := Resource.Record(&User{Name: "Ada", Email: "ada@example.com"}), `{"name":"Ada","email":"ada@example.com"}`; string(got.Doc) != want {
		t.Errorf("document %s, want %s", got.Doc, want)
	}
}
