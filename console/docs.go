package console

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"

	"github.com/parley-api/parley/problem"
	"github.com/swaggest/swgui/v5/static"
)

var (
	//go:embed asset/docs.css
	docsCSS string
	//go:embed asset/start.js
	startJS string
)

// docsCSP is the policy of the reference. Swagger UI needs neither inline
// scripts, inline styles nor eval: what it runs and its stylesheets are files
// of this host, and the styles that it sets on elements it sets by script,
// which style-src does not govern. It does need data: images, which its
// stylesheet has for icons, and connections to this host, to fetch the
// description and to try operations out.
const docsCSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// mount is where the reference lives.
const mount = "/docs"

type docs struct {
	page   []byte
	length string
	tag    string
	assets map[string]*asset
}

// Docs returns the reference: Swagger UI over the OpenAPI description at
// openapiPath, a path on this host. It must be mounted at /docs and at
// everything below it, which is one segment; what stands before /docs in the
// path of a request, the mount of a version for example, does not count.
//
// It answers GET and HEAD, sets Content-Security-Policy itself, and says of its
// files that they may be kept for ever, of its page that it must be checked.
// What is wrong with a request becomes a problem: NotFound for a file that does
// not exist, MethodNotAllowed for any other method.
//
// To be tried out, an operation must be on this host: the description's
// servers should be relative.
//
// It panics where openapiPath does not begin with "/" or leads to another
// host.
func Docs(title, openapiPath string) http.Handler {
	mustBePath(openapiPath)
	const css, js = "text/css; charset=utf-8", "text/javascript; charset=utf-8"
	swagger := newAsset("swagger-ui", css, vendored("swagger-ui.css.gz"))
	frameStyle := newAsset("frame", css, zip(frameCSS+docsCSS))
	bundle := newAsset("bundle", js, vendored("swagger-ui-bundle.js.gz"))
	start := newAsset("start", js, zip(startJS))

	d := &docs{assets: make(map[string]*asset)}
	for _, a := range []*asset{swagger, frameStyle, bundle, start} {
		d.assets[a.name] = a
	}
	d.page = execute("docs", struct {
		frame
		OpenAPI, Swagger, Frame, Bundle, Start string
	}{
		frame{title + ": reference", mount}, openapiPath,
		mount + "/" + swagger.name, mount + "/" + frameStyle.name, mount + "/" + bundle.name, mount + "/" + start.name,
	})
	sum := sha256.Sum256(d.page)
	d.tag = `"` + hex.EncodeToString(sum[:8]) + `"`
	d.length = strconv.Itoa(len(d.page))
	return d
}

// vendored reads a file of Swagger UI that its module embeds.
func vendored(name string) func() []byte {
	return func() []byte {
		b, err := static.FS.ReadFile(name)
		if err != nil {
			panic(err) // the module changed: a test makes the handler
		}
		return b
	}
}

func (d *docs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	var a *asset
	if !strings.HasSuffix(r.URL.Path, mount) {
		i := strings.LastIndex(r.URL.Path, mount+"/")
		if i >= 0 {
			a = d.assets[r.URL.Path[i+len(mount)+1:]]
		}
		if a == nil {
			problem.Write(w, r, problem.NotFound.New("There is nothing at this path."))
			return
		}
	}
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		problem.Write(w, r, problem.MethodNotAllowed.New("This resource supports GET, HEAD.").Set("Allow", "GET, HEAD"))
	case a != nil:
		a.ServeHTTP(w, r)
	default:
		d.serve(w, r)
	}
}

func (d *docs) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Security-Policy", docsCSP)
	h.Set("Referrer-Policy", "no-referrer")
	if unchanged(w, r, d.tag) {
		return
	}
	h.Set("Content-Type", ContentType)
	h.Set("Content-Length", d.length)
	if r.Method == http.MethodGet {
		w.Write(d.page)
	}
}
