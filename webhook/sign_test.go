package webhook

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
)

// A vector is a published signature.
type vector struct {
	Source, Secret, Public, ID, Payload, Signature string
	Timestamp                                      int64
}

func vectors(t testing.TB) []vector {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 4 {
		t.Fatalf("got %d vectors, want all of them", len(all))
	}
	return all
}

func parse(t testing.TB, text string) Secret {
	t.Helper()
	s, err := ParseSecret(text)
	if err != nil {
		t.Fatalf("ParseSecret: %v", err)
	}
	return s
}

func TestSignVectors(t *testing.T) {
	for _, v := range vectors(t) {
		got, err := Sign([]Secret{parse(t, v.Secret)}, v.ID, v.Timestamp, []byte(v.Payload))
		if err != nil || got != v.Signature {
			t.Errorf("%s: got %s, %v; want %s", v.Source, got, err, v.Signature)
		}
	}
}

// The saved states give what crypto/hmac gives, for secrets of every size.
func TestSignIsHMAC(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for size := 1; size <= 200; size++ {
		raw, body := make([]byte, size), make([]byte, r.IntN(300))
		for i := range raw {
			raw[i] = byte(r.Uint32())
		}
		for i := range body {
			body[i] = byte(r.Uint32())
		}
		mac := hmac.New(sha256.New, raw)
		fmt.Fprintf(mac, "msg_%d.%d.%s", size, size*1000, body)
		want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		secret := parse(t, base64.StdEncoding.EncodeToString(raw))
		got, err := secret.AppendSignature([]byte("x"), fmt.Sprint("msg_", size), int64(size*1000), body)
		if err != nil || string(got) != "x"+want {
			t.Errorf("%d bytes: got %s, %v; want x%s", size, got, err, want)
		}
	}
}

func TestSignSeveral(t *testing.T) {
	old, next, private := NewSecret(), NewSecret(), NewKeyPair()
	got, err := Sign([]Secret{next, old, private}, "msg_1", 1700000000, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	entries := strings.Split(got, " ")
	if len(entries) != 3 || !strings.HasPrefix(entries[0], "v1,") || !strings.HasPrefix(entries[2], "v1a,") {
		t.Fatalf("got %q, want two entries of v1 and one of v1a, in the order of the secrets", got)
	}
	for i, s := range []Secret{next, old, private} {
		if alone, _ := Sign([]Secret{s}, "msg_1", 1700000000, []byte("{}")); alone != entries[i] {
			t.Errorf("entry %d: got %s, want %s", i, entries[i], alone)
		}
	}
	raw, _ := base64.StdEncoding.DecodeString(entries[2][len("v1a,"):])
	if !ed25519.Verify(private.k.public, []byte("msg_1.1700000000.{}"), raw) {
		t.Error("the v1a entry is not an Ed25519 signature of id, timestamp and body")
	}
}

func TestSignRefuses(t *testing.T) {
	good := NewSecret()
	for _, test := range []struct {
		why       string
		secrets   []Secret
		id        string
		timestamp int64
		want      error
	}{
		{"no secret: the header would be empty", nil, "msg_1", 1, ErrCannotSign},
		{"a Secret that was never made", []Secret{{}}, "msg_1", 1, ErrCannotSign},
		{"a public key", []Secret{NewKeyPair().Public()}, "msg_1", 1, ErrCannotSign},
		{"one of two cannot sign", []Secret{good, NewKeyPair().Public()}, "msg_1", 1, ErrCannotSign},
		{"no id", []Secret{good}, "", 1, ErrSignID},
		{"a full stop would let the content be read in two ways", []Secret{good}, "msg.1", 1, ErrSignID},
		{"a line feed would end the header field", []Secret{good}, "msg\n1", 1, ErrSignID},
		{"a space is lost at the ends of a field", []Secret{good}, "msg 1", 1, ErrSignID},
		{"no ASCII", []Secret{good}, "msg_ä", 1, ErrSignID},
		{"too long", []Secret{good}, strings.Repeat("a", MaxID+1), 1, ErrSignID},
		{"a time before 1970 has a sign", []Secret{good}, "msg_1", -1, ErrSignTime},
	} {
		got, err := AppendSignatures([]byte("before"), test.secrets, test.id, test.timestamp, nil)
		if !errors.Is(err, test.want) || string(got) != "before" {
			t.Errorf("%s: got %q, %v; want %v and nothing appended", test.why, got, err, test.want)
		}
	}
	if _, err := Sign([]Secret{good}, strings.Repeat("a", MaxID), 0, nil); err != nil {
		t.Errorf("the longest id and the first second: %v", err)
	}
}

// Benches are shared by all secrets and goroutines.
func TestSignConcurrently(t *testing.T) {
	secrets := []Secret{NewSecret(), NewSecret(), NewKeyPair()}
	body := bytes.Repeat([]byte("x"), 70_000) // more than a bench keeps
	want, _ := Sign(secrets, "msg_1", 1, body)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got, err := Sign(secrets, "msg_1", 1, body); got != want || err != nil {
					t.Errorf("got %q, %v", got, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestSignAllocates(t *testing.T) {
	secret, body, dst := NewSecret(), bytes.Repeat([]byte("x"), 1024), make([]byte, 0, 128)
	secret.AppendSignature(dst, "msg_1", 1700000000, body)
	least := 100.0
	for range 5 { // a collection may empty the pool, and the race detector does at random
		least = min(least, testing.AllocsPerRun(100, func() { secret.AppendSignature(dst, "msg_1", 1700000000, body) }))
	}
	if least > 0 {
		t.Errorf("got %v allocations, want none", least)
	}
}

func BenchmarkAppendSignature(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 1024)
	for _, test := range []struct {
		name   string
		secret Secret
	}{{"v1", NewSecret()}, {"v1a", NewKeyPair()}} {
		b.Run(test.name, func(b *testing.B) {
			dst := make([]byte, 0, 128)
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				test.secret.AppendSignature(dst, "msg_00000000000020000000000001", 1700000000, body)
			}
		})
	}
	b.Run("crypto/hmac", func(b *testing.B) { // what a signature costs that keeps no state
		raw := make([]byte, 32)
		b.ReportAllocs()
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			mac := hmac.New(sha256.New, raw)
			mac.Write([]byte("msg_00000000000020000000000001.1700000000."))
			mac.Write(body)
			base64.StdEncoding.EncodeToString(mac.Sum(nil))
		}
	})
}
