package openapi_test

import (
	"encoding/json"
	"fmt"

	"github.com/parley-api/parley/openapi"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/version"
)

type Note struct {
	Text string `json:"text" parley:"required,max=2000" about:"What to remember."`
}

var notes = resource.Define("note", "notes", resource.Rules[Note]{About: "Something to remember."})

// A room describes itself. What is no resource is described by hand.
func ExampleBuild() {
	calendar := version.BuiltIn()
	room := notes.Open(resource.Options{Calendar: calendar})
	text, err := openapi.Build(
		openapi.Info{Title: "Notes", ServerURL: "https://notes.example.org", Calendar: calendar, Version: calendar.Find("1")},
		room.Routes(),
		openapi.Operation{
			Method: "GET", Pattern: "/healthz", ID: "getHealth", Summary: "Whether the service is alive", Public: true,
			Tag:   openapi.Tag{Name: "system", About: "The service itself."},
			Shows: openapi.Schema{JSON: `{"type": "object", "properties": {"status": {"type": "string"}}}`},
		},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	var doc struct {
		Info  struct{ Version string }
		Paths map[string]struct{ Get struct{ OperationID string } }
	}
	json.Unmarshal(text, &doc)
	fmt.Println(doc.Info.Version)
	for _, path := range []string{"/notes", "/notes/{id}", "/healthz"} {
		fmt.Println(path, doc.Paths[path].Get.OperationID)
	}
	// Output:
	// 2026-11-01
	// /notes listNotes
	// /notes/{id} getNote
	// /healthz getHealth
}

func ExampleYAML() {
	text, _ := openapi.YAML([]byte(`{"openapi": "3.1.0", "info": {"title": "Notes", "version": "2026-11-01"}}`))
	fmt.Print(string(text))
	// Output:
	// openapi: "3.1.0"
	// info:
	//   title: Notes
	//   version: "2026-11-01"
}
