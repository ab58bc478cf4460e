package journal

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"time"
)

var moment = time.Date(2026, 11, 15, 12, 0, 0, 123_400_000, time.UTC)

func record(level slog.Level, msg string, attrs ...slog.Attr) slog.Record {
	r := slog.NewRecord(moment, level, msg, 0)
	r.AddAttrs(attrs...)
	return r
}

// request is the record of a request.
func request() slog.Record {
	return record(slog.LevelInfo, "request",
		slog.String("id", "ohvcdjjd-6w"), slog.String("method", "GET"), slog.String("route", "/tasks/{id}"), slog.Int("status", 200),
		slog.Duration("duration", 41_234), slog.Int64("bytes", 402), slog.Int64("account", 1), slog.String("credential", "key-1"), slog.String("version", "2026-11-01"))
}

// TestSameBytes compares with slog.JSONHandler.
func TestSameBytes(t *testing.T) {
	tests := []struct {
		why string
		r   slog.Record
	}{
		{"a request", request()},
		{"no attributes", record(slog.LevelError, "stopped")},
		{"a level between", record(slog.LevelWarn+1, "odd")},
		{"every kind of number", record(0, "n", slog.Uint64("u", math.MaxUint64), slog.Int64("i", math.MinInt64), slog.Bool("b", true), slog.Float64("f", 1.5))},
		{"text to escape", record(0, `say "yes"`, slog.String("a", "b\nc"), slog.String("<&>", "ü\x00\xff"))},
		{"brackets, which are not escaped", record(0, "<&>")},
		{"a key to escape", record(0, "x", slog.Int("a\"b", 1))},
		{"an error", record(0, "x", slog.Any("err", errors.New("broken")))},
		{"nothing", record(0, "x", slog.Any("nil", nil), slog.Attr{})},
		{"a group", record(0, "x", slog.Group("g", slog.Int("a", 1)))},
		{"a group without a name", record(0, "x", slog.Group("", slog.Int("a", 1)))},
		{"a time", record(0, "x", slog.Time("t", moment))},
		{"no time", slog.NewRecord(time.Time{}, 0, "x", 0)},
		{"a year that JSON cannot say", slog.NewRecord(time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC), 0, "x", 0)},
		{"another zone", slog.NewRecord(moment.In(time.FixedZone("", 3600)), 0, "x", 0)},
		{"with the monotonic clock", slog.NewRecord(time.Now(), 0, "x", 0)},
	}
	for _, test := range tests {
		var got, want bytes.Buffer
		if err := New(&got, nil).Handle(t.Context(), test.r); err != nil {
			t.Errorf("%s: %v", test.why, err)
		}
		slog.NewJSONHandler(&want, nil).Handle(t.Context(), test.r)
		if got.String() != want.String() {
			t.Errorf("%s: got\n%swant\n%s", test.why, got.String(), want.String())
		}
	}
}

// TestLog writes a record without slog, by either kind of handler.
func TestLog(t *testing.T) {
	attrs := []slog.Attr{slog.String("route", "/tasks/{id}"), slog.Duration("duration", 41_234)}
	odd := append(attrs, slog.String("error", "a\nb"))
	for _, attrs := range [][]slog.Attr{attrs, odd} {
		var want bytes.Buffer
		slog.NewJSONHandler(&want, nil).Handle(t.Context(), record(slog.LevelWarn, "request", attrs...))
		for name, make := range map[string]func(io.Writer) slog.Handler{
			"journal": func(w io.Writer) slog.Handler { return New(w, nil) },
			"slog":    func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) },
		} {
			var got bytes.Buffer
			if err := Log(make(&got), moment, slog.LevelWarn, "request", attrs...); err != nil || got.String() != want.String() {
				t.Errorf("%s: got\n%swant\n%serror %v", name, got.String(), want.String(), err)
			}
		}
	}
}

func TestLevelsAndLoggers(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(New(&b, slog.LevelWarn))
	log.Info("too little")
	log.With("a", 1).WithGroup("g").Warn("enough", "b", 2)
	if got := b.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"msg":"enough","a":1,"g":{"b":2}}`) {
		t.Errorf("got %s", got)
	}
}

// TestWholeLines writes from many goroutines, on either path.
func TestWholeLines(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(New(&b, nil))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				log.Info("plain", "n", 1)
				log.Info("escaped\n", "n", 1.5)
			}
		})
	}
	wg.Wait()
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, `{"time":"`) || !strings.HasSuffix(line, "}\n") {
			t.Fatalf("got %q", line)
		}
	}
	if got := strings.Count(b.String(), "\n"); got != 3200 {
		t.Errorf("got %d lines, want 3200", got)
	}
}

func FuzzSameBytes(f *testing.F) {
	f.Add("request", "id", "a-1", int64(7))
	f.Add("\"", "\\", "\u2028<>", int64(-1))
	f.Add("", "", "", int64(0))
	f.Fuzz(func(t *testing.T, msg, key, text string, n int64) {
		r := record(slog.Level(n%9), msg, slog.String(key, text), slog.Int64(text, n))
		var got, want bytes.Buffer
		New(&got, slog.Level(-100)).Handle(t.Context(), r)
		slog.NewJSONHandler(&want, &slog.HandlerOptions{Level: slog.Level(-100)}).Handle(t.Context(), r)
		if got.String() != want.String() {
			t.Errorf("got %q, want %q", got.String(), want.String())
		}
	})
}

func benchmark(b *testing.B, h slog.Handler) {
	r := request()
	b.ReportAllocs()
	for b.Loop() {
		h.Handle(b.Context(), r)
	}
}

func BenchmarkJournal(b *testing.B) { benchmark(b, New(io.Discard, nil)) }
func BenchmarkSlog(b *testing.B)    { benchmark(b, slog.NewJSONHandler(io.Discard, nil)) }
