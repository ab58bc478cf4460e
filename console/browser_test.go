package console_test

import (
	"cmp"
	"context"
	_ "embed"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/parley-api/parley/console"
)

//go:embed testdata/openapi.json
var description []byte

//go:embed testdata/contrast.js
var contrast string

// serve returns the whole site on a socket of its own.
func serve(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	for path, page := range site() {
		if path == "/" {
			path = "/{$}"
		}
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", console.ContentType)
			w.Header().Set("Content-Security-Policy", page.CSP)
			w.Write(page.HTML)
		})
	}
	answer := func(path string, body []byte) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Write(body)
		})
	}
	answer("/openapi", description)
	answer("/tasks", []byte(`{"data": [{"id": 7, "title": "Sharpen the quill"}]}`))
	docs := console.Docs("Parley", "/openapi")
	mux.Handle("/docs", docs)
	mux.Handle("/docs/", docs)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// A browser is Chromium and what it had to complain about.
type browser struct {
	context.Context
	mu       sync.Mutex
	messages []string // warnings and errors on the console
	requests []string // every URL it asked for
}

// open starts Debian's Chromium, or the one that PARLEY_TEST_CHROMIUM names.
func open(t *testing.T) *browser {
	t.Helper()
	path := cmp.Or(os.Getenv("PARLEY_TEST_CHROMIUM"), "/usr/bin/chromium")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("there is no Chromium to test with: %v", err)
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
	}
	for _, name := range []string{"headless", "no-sandbox", "disable-gpu", "disable-background-networking", "disable-component-update", "disable-sync"} {
		options = append(options, chromedp.Flag(name, true))
	}
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, _ := chromedp.NewContext(allocator)
	t.Cleanup(func() { chromedp.Cancel(ctx) }) // waits for the browser to end
	b := &browser{Context: ctx}
	if err := chromedp.Do(b, chromedp.Navigate("about:blank")); err != nil { // starts it, and so without a limit
		t.Fatal(err)
	}
	watch(b, chromedp.Console(ctx), func(m chromedp.ConsoleMessage) {
		if m.IsException() || m.Type == "error" || m.Type == "warning" {
			b.messages = append(b.messages, m.String())
		}
	})
	watch(b, chromedp.Events(ctx, network.RequestWillBeSent), func(e network.EventRequestWillBeSent) {
		b.requests = append(b.requests, e.Request.URL)
	})
	return b
}

func watch[E any](b *browser, events iter.Seq2[E, error], keep func(E)) {
	go func() {
		for e, err := range events {
			if err != nil {
				return // the browser is closed
			}
			b.mu.Lock()
			keep(e)
			b.mu.Unlock()
		}
	}()
}

// reset forgets what there was so far and returns it.
func (b *browser) reset() (messages, requests []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	messages, requests = b.messages, b.requests
	b.messages, b.requests = nil, nil
	return messages, requests
}

// patience is how long a few steps may take on a busy machine.
const patience = 30 * time.Second

func do(t *testing.T, b *browser, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

func evaluate[T any](t *testing.T, b *browser, script string) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(b, patience)
	defer cancel()
	got, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// paint chooses the width of the screen and the scheme, and asks for no motion,
// so that colours are what they will be.
func paint(t *testing.T, b *browser, width int64, scheme string) {
	t.Helper()
	_, err := chromedp.Call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: 844, DeviceScaleFactor: 1, Mobile: width < 500})
	if err == nil {
		_, err = chromedp.Call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// foreign returns the requests that left the host.
func foreign(requests []string, host string) []string {
	return slices.DeleteFunc(slices.Clone(requests), func(raw string) bool {
		u, err := url.Parse(raw)
		return err == nil && (u.Host == host || u.Scheme == "data")
	})
}

// quiet checks that the browser had nothing to complain about and asked
// nobody else, and that it did ask for something.
func quiet(t *testing.T, b *browser, host string) {
	t.Helper()
	messages, requests := b.reset()
	for _, m := range messages {
		t.Errorf("on the console: %s", m)
	}
	for _, r := range foreign(requests, host) {
		t.Errorf("asked another host: %s", r)
	}
	if len(requests) == 0 {
		t.Error("no request was seen")
	}
}

func TestBrowser(t *testing.T) {
	server := serve(t)
	host := strings.TrimPrefix(server.URL, "http://")
	b := open(t)
	t.Run("the watch sees", func(t *testing.T) { checkWatch(t, b, host) })
	for _, path := range []string{
		"/", "/problems", "/problems/version-retired", "/problems/internal-error",
		"/versions", "/versions/2024-11-01", "/versions/2025-11-01", "/versions/2026-11-01",
	} {
		t.Run(path, func(t *testing.T) {
			b.reset()
			paint(t, b, 390, "light")
			do(t, b, chromedp.Navigate(server.URL+path))
			checkScreens(t, b)
			quiet(t, b, host)
		})
	}
	t.Run("/docs", func(t *testing.T) {
		b.reset()
		paint(t, b, 1280, "light")
		do(t, b, chromedp.Navigate(server.URL+"/docs"))
		checkReference(t, b)
		checkScreens(t, b)
		paint(t, b, 1280, "light")
		do(t, b, chromedp.Click(chromedp.CSS(".btn.authorize")), chromedp.WaitVisible(chromedp.CSS(".modal-ux")))
		checkScreens(t, b)
		quiet(t, b, host)
	})
}

// checkWatch makes the browser do what the pages must not do.
func checkWatch(t *testing.T, b *browser, host string) {
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", console.ContentType)
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		w.Write([]byte(`<!doctype html><title>x</title><p id="p">x</p><script>p.remove()</script>`))
	}))
	defer bad.Close()
	b.reset()
	do(t, b, chromedp.Navigate(bad.URL))
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		b.mu.Lock()
		seen := len(b.messages) > 0 && len(foreign(b.requests, host)) > 0
		b.mu.Unlock()
		if seen {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("a blocked script and a request to another host went unseen")
		}
	}
}

// checkScreens looks at the page on a phone and on a desk, by day and by night.
func checkScreens(t *testing.T, b *browser) {
	t.Helper()
	grounds := make(map[string]string)
	for width, scheme := range map[int64]string{390: "light", 1280: "dark"} {
		paint(t, b, width, scheme)
		if wide := evaluate[int](t, b, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
			t.Errorf("%d: the page is %d pixels too wide", width, wide)
		}
		for _, text := range evaluate[[]string](t, b, contrast) {
			t.Errorf("%s: contrast under 4.5: %s", scheme, text)
		}
		grounds[scheme] = evaluate[string](t, b, `getComputedStyle(document.body).backgroundColor`)
	}
	if grounds["light"] == grounds["dark"] {
		t.Errorf("light and dark are the same %s", grounds["light"])
	}
}

// checkReference reads an operation in Swagger UI and tries it out.
func checkReference(t *testing.T, b *browser) {
	t.Helper()
	const list = "#operations-tasks-listTasks "
	do(t, b,
		chromedp.WaitVisible(chromedp.CSS(list)),
		chromedp.Click(chromedp.CSS(list+".opblock-summary-control")),
		chromedp.Click(chromedp.CSS(list+".try-out__btn")),
		chromedp.Click(chromedp.CSS(list+".execute")),
		chromedp.WaitVisible(chromedp.CSS(list+".live-responses-table .microlight")),
		chromedp.Click(chromedp.CSS("#operations-tasks-createTask .opblock-summary-control")),
		chromedp.Click(chromedp.CSS("#operations-tasks-createTask .model-example .tabitem:last-child button")),
		chromedp.Click(chromedp.CSS("#operations-tasks-patchTask .opblock-summary-control")),
		chromedp.Click(chromedp.CSS(".models .models-control")),
		chromedp.WaitVisible(chromedp.CSS(".models .json-schema-2020-12")))
	for _, tt := range []struct{ selector, want, why string }{
		{".info .title", "Quills", "the title of the description"},
		{list + ".opblock-summary-path", "/tasks", "the path of an operation"},
		{list + ".opblock-summary-description", "List the tasks", "its summary"},
		{list + ".live-responses-table", "Sharpen the quill", "an answer to it"},
	} {
		got := evaluate[string](t, b, `document.querySelector("`+tt.selector+`")?.textContent ?? ""`)
		if !strings.Contains(strings.ReplaceAll(got, "\u200b", ""), tt.want) { // Swagger UI lets paths break
			t.Errorf("%s is %q, want %q", tt.why, got, tt.want)
		}
	}
}
