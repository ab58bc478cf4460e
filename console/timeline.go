package console

import (
	"math"
	"slices"
	"time"

	"github.com/parley-api/parley/version"
)

// A timeline is a drawing of all versions. Places across it are percentages of
// its width, so that it fits a screen of any; those down it are pixels.
type timeline struct {
	Height, Floor int
	Now           float64
	Years         []year
	Rows          []row
}

type year struct {
	Year int
	X    float64
}

type row struct {
	Name     string
	Y        int     // of the bars; the name stands above
	Label    float64 // where the name is anchored
	Anchor   string  // "start", or "end" where the name would leave the drawing
	On, Late bar     // active; deprecated
}

type bar struct{ X, Width float64 }

const (
	rowHeight  = 44
	yearHeight = 26
	mostYears  = 6
)

// draw lays the calendar out from its first release to a while after its last
// date or the moment, whichever is later. A version without an end reaches the
// edge.
func draw(c *version.Calendar, at time.Time) timeline {
	versions := c.Versions()
	from, to := versions[0].Released, at
	if at.Before(from) {
		from = at
	}
	for _, v := range versions {
		for _, date := range []time.Time{v.Released, v.Sunset} {
			if date.After(to) {
				to = date
			}
		}
	}
	to = to.Add(max(to.Sub(from)/12, 30*day))
	x := func(t time.Time) float64 { return percent(t.Sub(from), to.Sub(from)) }
	between := func(a, b time.Time) bar { return bar{x(a), percent(b.Sub(a), to.Sub(from))} }

	line := timeline{Floor: rowHeight * len(versions), Now: x(at)}
	line.Height = line.Floor + yearHeight
	for i, v := range slices.Backward(versions) {
		r := row{Name: v.Name, Y: rowHeight*(len(versions)-i) - 20}
		if v.Deprecated.IsZero() {
			r.On = between(v.Released, to)
		} else {
			r.On, r.Late = between(v.Released, v.Deprecated), between(v.Deprecated, v.Sunset)
		}
		if r.Label, r.Anchor = r.On.X, "start"; r.Label > 65 {
			r.Label, r.Anchor = r.On.X+r.On.Width+r.Late.Width, "end"
		}
		line.Rows = append(line.Rows, r)
	}
	every := (to.Year()-from.Year())/mostYears + 1
	for y := from.Year() + 1; y <= to.Year(); y += every {
		// The label is centred there and must not leave the drawing.
		if at := x(time.Date(y, time.January, 1, 0, 0, 0, 0, time.UTC)); at > 4 && at < 96 {
			line.Years = append(line.Years, year{y, at})
		}
	}
	return line
}

func percent(part, whole time.Duration) float64 {
	return math.Round(float64(part)/float64(whole)*10000) / 100
}
