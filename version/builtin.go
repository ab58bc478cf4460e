package version

import "time"

// BuiltIn returns the calendar of the Parley service: 2024-11-01, 2025-11-01
// (major 0) and 2026-11-01 (major 1, the latest), under the policy [Public].
func BuiltIn() *Calendar {
	date := func(year int) time.Time { return time.Date(year, time.November, 1, 0, 0, 0, 0, time.UTC) }
	c, err := NewCalendar(Public,
		Version{
			Name: "2024-11-01", Major: -1,
			Released: date(2024), Deprecated: date(2025), Sunset: date(2026),
			Changes: []Note{{
				ID:          "error-problem-detail",
				Description: "An error body is a problem detail (application/problem+json) instead of an object with one text.",
				Before:      `{"error": "<text>"}`,
				After:       `{"type": "/problems/<kind>", "title": "<summary>", "status": <code>, "detail": "<text>", "instance": "<path>"}`,
			}},
		},
		Version{
			Name: "2025-11-01", Major: 0,
			Released: date(2025), Deprecated: date(2026), Sunset: date(2027),
			Changes: []Note{{
				ID:          "task-name-title",
				Description: "The text of a task is called title.",
				Before:      `{"name": "<text>"}`,
				After:       `{"title": "<text>"}`,
			}, {
				ID:          "task-done-status",
				Description: "Whether a task is done became its status, which also tells pending from in_progress.",
				Before:      `{"done": true | false}`,
				After:       `{"status": "pending" | "in_progress" | "done"}`,
			}},
		},
		Version{Name: "2026-11-01", Major: 1, Released: date(2026)},
	)
	if err != nil {
		panic(err) // a test makes it
	}
	return c
}
