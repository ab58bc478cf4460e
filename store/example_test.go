package store_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/parley-api/parley/store"
)

// A resource and its event are written together; a second one with the same
// unique value is refused.
func Example() {
	folder, err := os.MkdirTemp("", "store")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)

	users := &store.Table{
		Name:    "users",
		Columns: []store.Column{{Name: "email", Kind: store.Text, Unique: true}},
		Fields:  []store.Field{{Name: "email", Type: "string"}},
	}
	ctx := context.Background()
	s, err := store.Open(ctx, filepath.Join(folder, "parley.db"), nil, users)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	tx := &store.Tx{Account: 1, Writes: []store.Write{{
		Table: users, Op: store.Insert, Doc: []byte(`{"email":"ada@example.org"}`), Keys: []any{"ada@example.org"},
		Events: []string{"user.created"}, Version: "2026-11-01",
	}}}
	rows, err := s.Commit(ctx, tx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("made user", rows[0].ID, "revision", rows[0].Rev)

	_, err = s.Commit(ctx, tx)
	if d, ok := errors.AsType[*store.DuplicateError](err); ok {
		fmt.Println("another user has this", d.Column)
	}

	events, err := s.Events(ctx, store.EventQuery{Account: 1})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range events {
		fmt.Println(e.Type, string(e.Doc))
	}
	// Output:
	// made user 1 revision 1
	// another user has this email
	// user.created {"email":"ada@example.org"}
}
