package openapi

import (
	"github.com/parley-api/parley/resource"
)

// form is the schema of an upload by a form.
const form = `{"type":"object","description":"One file, and perhaps its name.","required":["file"],"properties":{` +
	`"file":{"type":"string","contentMediaType":"application/octet-stream","description":"The bytes: any part with a filename."},` +
	`"name":{"type":"string","minLength":1,"maxLength":255,"description":"What to call it; the filename of the part without it."}},` +
	`"additionalProperties":false}`

// content describes what is different where items are bytes.
func (op *Operation) content(types []string, json []string, name string) {
	switch op.Kind {
	case resource.Create, resource.Replace:
		op.Takes = []Media{{Type: "*/*"}, {Type: resource.TypeForm, Schema: Schema{JSON: form}}}
		op.Problems = append(op.Problems, 507)
		for _, p := range []string{"query-name", "Content-Disposition", "Content-Digest", "Repr-Digest"} {
			op.Parameters = append(op.Parameters, Parameter{Name: p})
		}
		op.About = "Takes bytes, raw or as the one file of a form, streams them to where they are kept and answers with their description. " +
			"Nothing is seen of them until all have arrived."
		if op.Kind == resource.Create {
			op.About += " With an Idempotency-Key the request can be repeated with the same bytes: it is done once and answered alike."
		} else {
			op.About += " What was there is replaced as a whole. With If-Match, which takes the tag of the bytes or of the description, it fails where somebody else was faster."
		}
	case resource.Read:
		op.About = "Gives the bytes, or the parts of them that Range asks for; or their description where Accept prefers JSON."
		op.Answers = BytesAnswers(types...)
		for _, t := range json {
			op.Answers[0].Media = append(op.Answers[0].Media, Media{t, Schema{Name: name}})
		}
		op.Parameters = append(op.Parameters, BytesParameters()...)
		op.Problems = append(op.Problems, 406, 416)
	}
}

// BytesAnswers are the answers of an operation that gives bytes of these types,
// in parts where asked: 200, 206 and 304.
func BytesAnswers(types ...string) []Answer {
	headers := func(names ...string) []Header {
		all := []Header{{Name: "ETag"}, {Name: "Last-Modified"}}
		for _, n := range names {
			all = append(all, Header{Name: n})
		}
		return all
	}
	whole := Answer{Status: 200, About: "All of it.", Headers: headers("Accept-Ranges", "Content-Digest", "Content-Disposition", "Content-Security-Policy", "Repr-Digest")}
	part := Answer{Status: 206, About: "The parts that Range asks for: one, or several as multipart/byteranges.",
		Headers: headers("Accept-Ranges", "Content-Disposition", partRange, "Content-Security-Policy", "Repr-Digest")}
	for _, t := range types {
		whole.Media = append(whole.Media, Media{Type: t})
		part.Media = append(part.Media, Media{Type: t})
	}
	part.Media = append(part.Media, Media{Type: "multipart/byteranges"})
	unchanged := Answer{Status: 304, About: "Not changed since the entity tag in If-None-Match or the date in If-Modified-Since.", Headers: headers()}
	return []Answer{whole, part, unchanged}
}

// BytesParameters are the parameters of such an operation besides those of its
// kind.
func BytesParameters() []Parameter {
	return []Parameter{{Name: "byte-range"}, {Name: "If-Range"}, {Name: "If-Modified-Since"}}
}
