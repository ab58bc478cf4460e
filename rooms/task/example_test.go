package task_test

import (
	"fmt"

	"github.com/parley-api/parley/rooms/task"
)

// A client of version 2025-11-01 knows done and nothing else: what it leaves
// undone keeps the state it has.
func ExampleTask2025() {
	now := task.Task{Title: "Write it down", Status: task.InProgress}
	old := task.Renamed.Down(now)
	fmt.Printf("%q %v\n", old.Name, old.Done)

	old.Name = "Write it up"
	next, err := task.Renamed.Up(old, &now)
	fmt.Printf("%q %s %v\n", next.Title, next.Status, err)
	// Output:
	// "Write it down" false
	// "Write it up" in_progress <nil>
}
