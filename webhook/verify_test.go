package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// headers are those of a delivery.
func headers(id, timestamp, signature string) http.Header {
	h := make(http.Header)
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", timestamp)
	h.Set("webhook-signature", signature)
	return h
}

// signed are the headers of a delivery that is signed at a time.
func signed(t testing.TB, at int64, id, body string, secrets ...Secret) http.Header {
	t.Helper()
	value, err := Sign(secrets, id, at, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return headers(id, strconv.FormatInt(at, 10), value)
}

func TestVerifyVectors(t *testing.T) {
	for _, v := range vectors(t) {
		h, at := headers(v.ID, strconv.FormatInt(v.Timestamp, 10), v.Signature), time.Unix(v.Timestamp, 0)
		for _, text := range []string{v.Secret, v.Public} {
			if text == "" {
				continue
			}
			verifier := NewVerifier([]Secret{parse(t, text)}, nil)
			if err := verifier.Verify(h, []byte(v.Payload), at); err != nil {
				t.Errorf("%s: %v", v.Source, err)
			}
			if err := verifier.Verify(h, []byte(v.Payload+" "), at); !errors.Is(err, ErrNoMatch) {
				t.Errorf("%s, with another body: got %v, want %v", v.Source, err, ErrNoMatch)
			}
		}
	}
}

func TestVerify(t *testing.T) {
	const now, body = 1700000000, `{"type":"task.created"}`
	secret, other, private := NewSecret(), NewSecret(), NewKeyPair()
	entry := func(at int64, secrets ...Secret) string {
		return signed(t, at, "msg_1", body, secrets...).Get("webhook-signature")
	}
	good, foreign, asymmetric := entry(now, secret), entry(now, other), entry(now, private)
	many := strings.Repeat(foreign+" ", MaxSignatures-1)
	stamp := strconv.Itoa(now)
	tests := []struct {
		why                      string
		id, timestamp, signature string
		secrets                  []Secret
		want                     error
	}{
		{"one entry that matches", "msg_1", stamp, good, []Secret{secret}, nil},
		{"the sender signs with the old and the new secret", "msg_1", stamp, entry(now, other, secret), []Secret{secret}, nil},
		{"the consumer knows two", "msg_1", stamp, good, []Secret{other, secret}, nil},
		{"the consumer has both schemes, the sender one", "msg_1", stamp, asymmetric, []Secret{secret, private.Public()}, nil},
		{"a private key verifies, too", "msg_1", stamp, asymmetric, []Secret{private}, nil},
		{"entries of unknown schemes are ignored", "msg_1", stamp, "v2,abc v0, " + good + " v1x,zzz", []Secret{secret}, nil},
		{"what is no entry is passed over", "msg_1", stamp, "garbage ,x  " + good + " ", []Secret{secret}, nil},
		{"the padding left out", "msg_1", stamp, strings.TrimRight(good, "="), []Secret{secret}, nil},
		{"the padding left out, v1a", "msg_1", stamp, strings.TrimRight(asymmetric, "="), []Secret{private}, nil},
		{"as many entries as may be", "msg_1", stamp, many + good, []Secret{secret}, nil},
		{"300 s old", "msg_1", strconv.Itoa(now - 300), entry(now-300, secret), []Secret{secret}, nil},
		{"300 s ahead", "msg_1", strconv.Itoa(now + 300), entry(now+300, secret), []Secret{secret}, nil},

		{"no id", "", stamp, good, []Secret{secret}, ErrMissingHeader},
		{"no timestamp", "msg_1", "", good, []Secret{secret}, ErrMissingHeader},
		{"no signature", "msg_1", stamp, "", []Secret{secret}, ErrMissingHeader},
		{"an id with a space", "msg 1", stamp, good, []Secret{secret}, ErrID},
		{"an id that is too long", strings.Repeat("m", MaxID+1), stamp, good, []Secret{secret}, ErrID},
		{"an id that is not ASCII", "msg_é", stamp, good, []Secret{secret}, ErrID},
		{"a time of ISO 8601", "msg_1", "2023-11-14T22:13:20Z", good, []Secret{secret}, ErrTimestamp},
		{"a fraction", "msg_1", stamp + ".0", good, []Secret{secret}, ErrTimestamp},
		{"a sign", "msg_1", "+" + stamp, good, []Secret{secret}, ErrTimestamp},
		{"a negative number", "msg_1", "-1", good, []Secret{secret}, ErrTimestamp},
		{"a zero in front: a second way to write it", "msg_1", "0" + stamp, good, []Secret{secret}, ErrTimestamp},
		{"a space in front", "msg_1", " " + stamp, good, []Secret{secret}, ErrTimestamp},
		{"hexadecimal", "msg_1", "0x65", good, []Secret{secret}, ErrTimestamp},
		{"underscores", "msg_1", "1_700_000_000", good, []Secret{secret}, ErrTimestamp},
		{"too many digits", "msg_1", "99999999999999999999", good, []Secret{secret}, ErrTimestamp},
		{"301 s old, and signed so", "msg_1", strconv.Itoa(now - 301), entry(now-301, secret), []Secret{secret}, ErrTooOld},
		{"the first second", "msg_1", "0", entry(0, secret), []Secret{secret}, ErrTooOld},
		{"301 s ahead, and signed so", "msg_1", strconv.Itoa(now + 301), entry(now+301, secret), []Secret{secret}, ErrTooNew},
		{"milliseconds", "msg_1", stamp + "000", entry(now*1000, secret), []Secret{secret}, ErrTooNew},
		{"the last second", "msg_1", "4611686018427387903", good, []Secret{secret}, ErrTooNew},
		{"no entry at all", "msg_1", stamp, good[len("v1,"):], []Secret{secret}, ErrSignature},
		{"only a space", "msg_1", stamp, " ", []Secret{secret}, ErrSignature},
		{"one entry too many", "msg_1", stamp, many + good + " " + good, []Secret{secret}, ErrSignature},
		{"another scheme only", "msg_1", stamp, "v2,abc", []Secret{secret}, ErrNoScheme},
		{"v1a only, and a shared secret", "msg_1", stamp, asymmetric, []Secret{secret}, ErrNoScheme},
		{"v1 only, and a public key", "msg_1", stamp, good, []Secret{private.Public()}, ErrNoScheme},
		{"the scheme in capitals", "msg_1", stamp, "V1" + good[2:], []Secret{secret}, ErrNoScheme},
		{"another secret", "msg_1", stamp, foreign, []Secret{secret}, ErrNoMatch},
		{"another key", "msg_1", stamp, asymmetric, []Secret{NewKeyPair()}, ErrNoMatch},
		{"another id", "msg_2", stamp, good, []Secret{secret}, ErrNoMatch},
		{"another time", "msg_1", strconv.Itoa(now + 1), good, []Secret{secret}, ErrNoMatch},
		{"no signature after the comma", "msg_1", stamp, "v1,", []Secret{secret}, ErrNoMatch},
		{"half a signature", "msg_1", stamp, good[:20], []Secret{secret}, ErrNoMatch},
		{"a signature and more", "msg_1", stamp, good + "A", []Secret{secret}, ErrNoMatch},
		{"padding and more padding", "msg_1", stamp, good + "=", []Secret{secret}, ErrNoMatch},
		{"padding in place of a character", "msg_1", stamp, good[:len(good)-2] + "=", []Secret{secret}, ErrNoMatch},
		{"the signature in the other scheme", "msg_1", stamp, "v1a" + good[2:], []Secret{private}, ErrNoMatch},
		{"v1a cut short", "msg_1", stamp, asymmetric[:40], []Secret{private}, ErrNoMatch},
		{"v1a that is no base64", "msg_1", stamp, "v1a," + strings.Repeat("%", 88), []Secret{private}, ErrNoMatch},
		{"v1a with bits that nothing encodes", "msg_1", stamp, flip(asymmetric), []Secret{private}, ErrNoMatch},
	}
	for _, test := range tests {
		err := NewVerifier(test.secrets, nil).Verify(headers(test.id, test.timestamp, test.signature), []byte(body), time.Unix(now, 999_999_999))
		if !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.why, err, test.want)
		}
		if err != nil && (strings.Contains(err.Error(), stamp) || strings.Contains(err.Error(), "msg_1") || strings.Contains(err.Error(), good[3:12])) {
			t.Errorf("%s: the error %q holds what was received", test.why, err)
		}
	}
}

// flip changes the last character before the padding to one that decodes to
// the same bytes where nobody looks at the bits between.
func flip(signature string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	i := strings.Index(signature, "=") - 1
	at := strings.IndexByte(alphabet, signature[i])
	return signature[:i] + string(alphabet[at^1]) + signature[i+1:]
}

func TestVerifyRepeatedHeaders(t *testing.T) {
	secret := NewSecret()
	for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
		h := signed(t, 1, "msg_1", "{}", secret)
		h.Add(name, h.Get(name))
		err := NewVerifier([]Secret{secret}, nil).Verify(h, []byte("{}"), time.Unix(1, 0))
		if !errors.Is(err, ErrRepeatedHeader) || !strings.HasSuffix(err.Error(), ": "+name) {
			t.Errorf("%s twice: got %v, want %v and its name", name, err, ErrRepeatedHeader)
		}
		h.Del(name)
		err = NewVerifier([]Secret{secret}, nil).Verify(h, []byte("{}"), time.Unix(1, 0))
		if !errors.Is(err, ErrMissingHeader) || !strings.HasSuffix(err.Error(), ": "+name) {
			t.Errorf("no %s: got %v, want %v and its name", name, err, ErrMissingHeader)
		}
	}
}

func TestVerifyTolerance(t *testing.T) {
	secret := NewSecret()
	h := signed(t, 1000, "msg_1", "{}", secret)
	for _, test := range []struct {
		why       string
		tolerance time.Duration
		at        int64
		want      error
	}{
		{"zero is 300 s", 0, 1300, nil},
		{"zero is 300 s and no more", 0, 1301, ErrTooOld},
		{"a second", time.Second, 1001, nil},
		{"more than a second", time.Second, 1002, ErrTooOld},
		{"a second ahead", time.Second, 998, ErrTooNew},
		{"an hour", time.Hour, 4600, nil},
	} {
		err := NewVerifier([]Secret{secret}, &VerifierOptions{Tolerance: test.tolerance}).Verify(h, []byte("{}"), time.Unix(test.at, 0))
		if !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.why, err, test.want)
		}
	}
}

func TestNewVerifierPanics(t *testing.T) {
	for _, test := range []struct {
		why     string
		secrets []Secret
		opts    *VerifierOptions
	}{
		{"without a secret everything would be refused", nil, nil},
		{"a Secret that was never made", []Secret{NewSecret(), {}}, nil},
		{"a negative tolerance would refuse everything", []Secret{NewSecret()}, &VerifierOptions{Tolerance: -1}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", test.why)
				}
			}()
			NewVerifier(test.secrets, test.opts)
		}()
	}
}

// FuzzVerify holds the verifier against one that is written as plainly as can
// be: what it accepts must be signed, with a fresh timestamp.
func FuzzVerify(f *testing.F) {
	secret, _ := ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	private, _ := ParseSecret("whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==")
	raw, _ := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	f.Add("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", []byte(`{"test": 2432232314}`))
	f.Add("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==", []byte(`{"test": 2432232314}`))
	f.Add("a.b", "0", "v1,", []byte{})
	f.Add("", "-1", ",, ,", []byte(nil))
	at := time.Unix(1614265330, 0)
	f.Fuzz(func(t *testing.T, id, timestamp, signature string, body []byte) {
		h := headers(id, timestamp, signature)
		NewVerifier([]Secret{private}, nil).Verify(h, body, at) // must not panic
		err := NewVerifier([]Secret{secret}, nil).Verify(h, body, at)
		mac := hmac.New(sha256.New, raw)
		fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
		want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		right := false
		for entry := range strings.SplitSeq(signature, " ") {
			right = right || entry == want || entry+"=" == want
		}
		seconds, bad := strconv.ParseInt(timestamp, 10, 64)
		right = right && bad == nil && seconds >= 1614265030 && seconds <= 1614265630 && strconv.FormatInt(seconds, 10) == timestamp
		switch {
		case err == nil && !right:
			t.Fatal("accepted what is not signed")
		case right && errors.Is(err, ErrNoMatch):
			t.Fatal("refused what is signed")
		}
		// What is signed here and now is accepted, whatever else the header has.
		if signable(id) && len(body) < 1000 {
			good := signed(t, 1614265330, id, string(body), secret)
			if err := NewVerifier([]Secret{secret}, nil).Verify(good, body, at); err != nil {
				t.Fatalf("a round trip: %v", err)
			}
		}
	})
}

// FuzzSignature splits headers: never more entries than may be, and each as it
// stands in the header.
func FuzzSignature(f *testing.F) {
	for _, seed := range []string{"", " ", ",", "v1,", "v1,abc v1a,def", "v1,a,b", strings.Repeat("v1,a ", 17), "v1\xff,\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		var s seal
		err := s.split(value)
		if (err == nil) != (s.count > 0) && s.count != MaxSignatures {
			t.Fatalf("%d entries, and %v", s.count, err)
		}
		for _, e := range s.entries[:s.count] {
			if e.scheme == "" || !strings.Contains(" "+value+" ", " "+e.scheme+","+e.signature+" ") {
				t.Fatalf("the entry %q is not in %q", e, value)
			}
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	body := strings.Repeat("x", 1024)
	for _, test := range []struct {
		name   string
		secret Secret
	}{{"v1", NewSecret()}, {"v1a", NewKeyPair()}} {
		b.Run(test.name, func(b *testing.B) {
			v, h, raw, at := NewVerifier([]Secret{test.secret}, nil), signed(b, 1700000000, "msg_1", body, test.secret), []byte(body), time.Unix(1700000000, 0)
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if err := v.Verify(h, raw, at); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
