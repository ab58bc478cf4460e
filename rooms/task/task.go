// Package task is the illustrative resource of the contract: something to do,
// perhaps by somebody, that is pending, in progress or done.
package task

import (
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/version"
)

// A Task is something to do.
type Task struct {
	Title      string `json:"title" parley:"required,max=500,line" about:"What is to be done."`
	AssigneeID *int64 `json:"assignee_id" parley:"ref=users" about:"The user who does it."`
	Status     string `json:"status" about:"How far it is."`
}

// The states of a task.
const (
	Pending    = "pending"
	InProgress = "in_progress"
	Done       = "done"
)

// Resource is the definition that a service opens.
var Resource = resource.Define("task", "tasks", resource.Rules[Task]{
	About: "Something to do.",
	States: resource.States{
		Field: "status", Initial: Pending,
		Moves: map[string][]string{
			Pending:    {InProgress, Done},
			InProgress: {Done, Pending},
			Done:       {InProgress},
		},
		Enter: map[string]string{Done: "completed"},
	},
	Actions: resource.Actions{"complete": {To: Done, About: "Complete a task"}},
	Filters: []string{"status", "assignee_id"},
	Links:   resource.Links{"owner": resource.Ref("assignee_id")},
	Changes: []version.Step{version.Between("2025-11-01", "2026-11-01", Renamed)},
})

// A Task2025 is a task as version 2025-11-01 showed it.
type Task2025 struct {
	Name       string `json:"name" parley:"required,max=500,line" about:"What is to be done."`
	AssigneeID *int64 `json:"assignee_id" parley:"ref=users" about:"The user who does it."`
	Done       bool   `json:"done" parley:"state" about:"Whether it is done."`
}

// Renamed is the change of version 2026-11-01: name became title, and done
// became status. Old clients cannot tell pending from in_progress, so what they
// leave undone keeps the state it has, and what they reopen is in progress.
var Renamed = version.Change[Task2025, Task]{
	Down: func(t Task) Task2025 {
		return Task2025{Name: t.Title, AssigneeID: t.AssigneeID, Done: t.Status == Done}
	},
	Up: func(old Task2025, was *Task) (Task, error) {
		t := Task{Title: old.Name, AssigneeID: old.AssigneeID, Status: Pending}
		if was != nil {
			t.Status = was.Status
		}
		switch {
		case old.Done:
			t.Status = Done
		case t.Status == Done:
			t.Status = InProgress
		}
		return t, nil
	},
	Fields:  map[string]string{"/name": "/title", "/done": "/status"},
	Filters: map[string]string{"done": "status"},
	Values: map[string]map[string][]string{
		"done": {"true": {Done}, "false": {Pending, InProgress}},
	},
}
