package diff

import (
	"encoding/json"
	"io"
)

// reportBody is a report as JSON.
type reportBody struct {
	Old     *Document    `json:"old"`
	New     *Document    `json:"new"`
	Summary summaryBody  `json:"summary"`
	Changes []changeBody `json:"changes"`
}

type summaryBody struct {
	Breaking    int `json:"breaking"`
	Typed       int `json:"typed"`
	NonBreaking int `json:"non_breaking"`
}

type changeBody struct {
	Rule    string   `json:"rule"`
	Class   Class    `json:"class"`
	Message string   `json:"message"`
	Advice  string   `json:"advice,omitempty"`
	Subject string   `json:"subject"`
	Before  string   `json:"before,omitempty"`
	After   string   `json:"after,omitempty"`
	Where   []string `json:"where"`
}

// JSON writes the report for programs, indented by two spaces. Members may be
// added to it; those that are there stay.
func (r *Report) JSON(w io.Writer) error {
	body := reportBody{Old: r.Old, New: r.New, Changes: []changeBody{}}
	body.Summary = summaryBody{r.Count(Breaking), r.Count(Typed), r.Count(NonBreaking)}
	for i := range r.Changes {
		c := &r.Changes[i]
		where := c.Where
		if where == nil {
			where = []string{}
		}
		body.Changes = append(body.Changes, changeBody{c.Rule.ID, c.Rule.Class, c.Rule.Message, c.Rule.Advice, c.Subject, c.Before, c.After, where})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(body)
}
