package store

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

//go:embed migrations
var migrations embed.FS

// A migration is a numbered file of SQL that is applied once.
type migration struct {
	number   int64
	name     string
	checksum string
	sql      string
}

// prepare brings the system's tables up to date, then derives those of the
// resources.
func prepare(db session, d *dialect, list []*table, now int64) error {
	files, err := readMigrations(migrations, path.Join("migrations", d.name))
	if err != nil {
		return err
	}
	if err := migrate(db, d, files, now); err != nil {
		return err
	}
	return derive(db, d, list)
}

// readMigrations returns the files of a folder in order of their numbers.
func readMigrations(files fs.FS, folder string) ([]migration, error) {
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		return nil, err
	}
	var list []migration
	for _, e := range entries {
		number, _, ok := strings.Cut(e.Name(), "_")
		n, err := strconv.ParseInt(number, 10, 64)
		if !ok || err != nil || n != int64(len(list)+1) {
			return nil, fmt.Errorf("migration %s is not the next in order", e.Name())
		}
		text, err := fs.ReadFile(files, path.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		list = append(list, migration{n, strings.TrimSuffix(e.Name(), ".sql"), hex.EncodeToString(sum[:]), string(text)})
	}
	return list, nil
}

// migrate applies the migrations that the database does not have yet.
func migrate(db session, d *dialect, files []migration, now int64) error {
	err := db.script(fmt.Sprintf("CREATE TABLE IF NOT EXISTS migration (number %[1]s PRIMARY KEY, name %[2]s NOT NULL, checksum %[2]s NOT NULL, applied %[1]s NOT NULL)",
		d.types[Int], d.types[Text]))
	if err != nil {
		return err
	}
	var applied []migration
	err = db.query("SELECT number, name, checksum FROM migration ORDER BY number", nil, func(c cursor) {
		applied = append(applied, migration{number: c.int(0), name: c.text(1), checksum: c.text(2)})
	})
	if err != nil {
		return err
	}
	if len(applied) > len(files) {
		return fmt.Errorf("the database is newer than this program: it has migration %s. Run the newer program, or restore a backup from before it",
			applied[len(applied)-1].name)
	}
	for i, a := range applied {
		if f := files[i]; a.number != f.number || a.checksum != f.checksum {
			return fmt.Errorf("migration %s was altered after it was applied to this database. Run the program that applied it, or restore its file", f.name)
		}
	}
	for _, f := range files[len(applied):] {
		if err := db.script(f.sql); err != nil {
			return fmt.Errorf("migration %s: %w", f.name, err)
		}
		_, err := db.run("INSERT INTO migration (number, name, checksum, applied) VALUES ($1, $2, $3, $4)", f.number, f.name, f.checksum, now)
		if err != nil {
			return err
		}
	}
	return nil
}
