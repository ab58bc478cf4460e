package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"sync"
)

// ContentType is the media type of every page.
const ContentType = "text/html; charset=utf-8"

// A Page is one HTML document. Neither field may be changed: pages share their
// CSP, and a caller may keep a page and send it many times.
type Page struct {
	HTML []byte
	CSP  string // the value of the Content-Security-Policy header to send with it
}

var (
	//go:embed page
	markup embed.FS
	//go:embed asset/frame.css
	frameCSS string
	//go:embed asset/page.css
	pageCSS string
	//go:embed asset/icon.svg
	iconSVG []byte
)

// A frame is what the surroundings of every page need to know.
type frame struct {
	Title string // of the document
	Here  string // the path that is marked in the navigation
}

// pages parses the templates when the first page is made, so that a program
// that makes none does not pay for them.
var pages = sync.OnceValue(func() *template.Template {
	style := template.CSS(frameCSS + pageCSS)
	icon := template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(iconSVG))
	return template.Must(template.New("").Funcs(template.FuncMap{
		"style": func() template.CSS { return style },
		"icon":  func() template.URL { return icon },
	}).ParseFS(markup, "page/*.html"))
})

// policy allows the one inline style by its hash, and the icon, which is part
// of the page as a data URL. There is nothing else to allow.
var policy = sync.OnceValue(func() string {
	return "default-src 'none'; style-src '" + hash(frameCSS+pageCSS) + "'; img-src data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
})

// hash returns the hash-source of CSP level 3, section 2.3.1.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func render(name string, data any) Page {
	return Page{HTML: execute(name, data), CSP: policy()}
}

func execute(name string, data any) []byte {
	var b bytes.Buffer
	if err := pages().ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // a template and its data disagree: the tests make every page
	}
	return b.Bytes()
}

// reason returns the name of a status code as RFC 9110 has it; the standard
// library still has older names for three of them.
func reason(status int) string {
	switch status {
	case http.StatusRequestEntityTooLarge:
		return "Content Too Large"
	case http.StatusRequestedRangeNotSatisfiable:
		return "Range Not Satisfiable"
	case http.StatusUnprocessableEntity:
		return "Unprocessable Content"
	}
	return http.StatusText(status)
}
