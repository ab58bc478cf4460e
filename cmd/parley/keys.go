package main

import (
	"context"
	"fmt"
	"time"

	"github.com/alecthomas/kong"

	"github.com/parley-api/parley"
)

// keys are the commands about what the service seals with.
type keys struct {
	RotateCursors rotateCursors `cmd:"" help:"Seal cursors with a new key from now on. Cursors that clients hold stay good. The service may be running."`
}

// rotateCursors makes a new key for cursors.
type rotateCursors struct {
	Data     string `default:"./parley-data" env:"PARLEY_DATA" placeholder:"DIR" group:"Storage" help:"Folder of the SQLite file."`
	Database string `env:"PARLEY_DATABASE" placeholder:"URL" group:"Storage" help:"postgres://… Default: the SQLite file in the data folder."`
}

// BeforeResolve is called by the parser between flags and their values.
func (*rotateCursors) BeforeResolve(ctx *kong.Context) error { return settle(ctx) }

// Run makes the key and says when it is used.
func (r *rotateCursors) Run(k *kong.Kong) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cfg := parley.Config{Data: r.Data, Database: r.Database}
	number, err := parley.RotateCursors(ctx, cfg)
	if err != nil {
		return explain(err, &cfg)
	}
	_, err = fmt.Fprintf(k.Stdout, "Cursor key %d is in place; every node uses it within a minute.\n", number)
	return err
}
