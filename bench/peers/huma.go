package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/parley-api/parley/bench/internal/hand"
	"github.com/parley-api/parley/bench/internal/server"
)

// shown is a task as huma sends it.
type shown struct {
	ID         int64     `json:"id"`
	Title      string    `json:"title"`
	AssigneeID *int64    `json:"assignee_id"`
	Status     string    `json:"status" enum:"pending,in_progress,done"`
	CreatedAt  time.Time `json:"created_at"`
}

type output struct {
	Location string `header:"Location"`
	Body     shown
}

type reading struct {
	ID int64 `path:"id" minimum:"1"`
}

type creating struct {
	Body struct {
		Title      string `json:"title" minLength:"1" maxLength:"500"`
		AssigneeID *int64 `json:"assignee_id,omitempty"`
	}
}

type changing struct {
	ID   int64 `path:"id" minimum:"1"`
	Body struct {
		Title      *string `json:"title,omitempty" minLength:"1" maxLength:"500"`
		AssigneeID *int64  `json:"assignee_id,omitempty"`
		Status     *string `json:"status,omitempty" enum:"pending,in_progress,done"`
	}
}

// serveHuma puts huma, with its default settings on net/http's mux, before the
// database that was written by hand.
func serveHuma(o server.Options) error {
	db, err := hand.OpenSQLite(o.Source)
	if err != nil {
		return err
	}
	defer db.Close()
	mux := http.NewServeMux()
	api := humago.New(mux, huma.DefaultConfig("Tasks", "1"))
	huma.Get(api, "/tasks/{id}", func(_ context.Context, in *reading) (*output, error) {
		return show(db.Get(in.ID))
	})
	huma.Register(api, huma.Operation{OperationID: "create-task", Method: http.MethodPost, Path: "/tasks", DefaultStatus: http.StatusCreated},
		func(_ context.Context, in *creating) (*output, error) {
			out, err := show(db.Create(hand.Document{Title: in.Body.Title, AssigneeID: in.Body.AssigneeID, Status: "pending"}))
			if err == nil {
				out.Location = fmt.Sprint("/tasks/", out.Body.ID)
			}
			return out, err
		})
	huma.Patch(api, "/tasks/{id}", func(_ context.Context, in *changing) (*output, error) {
		return show(db.Patch(in.ID, hand.Patch(in.Body)))
	})
	return server.Serve(mux, server.Ready{
		Durability: "WAL, synchronous=FULL: every answered write has been flushed to disk",
		Conditions: "validation and negotiation by huma; no key, no quota, no log; the event is written in the same transaction",
		Version:    versions("github.com/danielgtaylor/huma/v2", "modernc.org/sqlite"),
	})
}

// show makes an answer of what the database said.
func show(t hand.Task, err error) (*output, error) {
	switch {
	case errors.Is(err, hand.ErrNotFound):
		return nil, huma.Error404NotFound(err.Error())
	case errors.Is(err, hand.ErrInvalid), errors.Is(err, hand.ErrAssignee):
		return nil, huma.Error422UnprocessableEntity(err.Error())
	case err != nil:
		return nil, err
	}
	var d hand.Document
	if err := json.Unmarshal(t.Doc, &d); err != nil {
		return nil, err
	}
	return &output{Body: shown{t.ID, d.Title, d.AssigneeID, d.Status, time.UnixMicro(t.Created).UTC()}}, nil
}
