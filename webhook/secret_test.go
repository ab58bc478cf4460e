package webhook

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

const (
	seed    = "6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbc="
	keyPair = "6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
	public  = "1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
)

func TestParseSecret(t *testing.T) {
	full := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0xfb}, maxShared))
	for _, test := range []struct {
		why, text, want string
	}{
		{"as it is shown to people", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
		{"without the prefix", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
		{"with padding", "whsec_c2VjcmV0IQ==", "whsec_c2VjcmV0IQ=="},
		{"the padding left out", "whsec_c2VjcmV0IQ", "whsec_c2VjcmV0IQ=="},
		{"one sign of padding", "whsec_c2VjcmV0ISE=", "whsec_c2VjcmV0ISE="},
		{"the line feed of a file", " whsec_c2VjcmV0IQ==\r\n", "whsec_c2VjcmV0IQ=="},
		{"bits that nothing encodes: other libraries drop them, too", "whsec_c2VjcmV0IR==", "whsec_c2VjcmV0IQ=="},
		{"one byte", "AA==", "whsec_AA=="},
		{"as large as can be", full, "whsec_" + full},
		{"a private key as its seed", "whsk_" + seed, "whsk_" + keyPair},
		{"a private key with its public half", "whsk_" + keyPair, "whsk_" + keyPair},
		{"a private key without padding", "whsk_" + strings.TrimRight(keyPair, "="), "whsk_" + keyPair},
		{"a public key", "whpk_" + public, "whpk_" + public},
		{"a public key without padding", "whpk_" + strings.TrimRight(public, "="), "whpk_" + public},
	} {
		s, err := ParseSecret(test.text)
		if got := s.Reveal(); err != nil || got != test.want {
			t.Errorf("%s: got %s, %v; want %s", test.why, got, err, test.want)
		}
	}
}

var refusedSecrets = []struct {
	why, text string
	want      error
}{
	{"nothing", "", ErrSecretEmpty},
	{"spaces", " \n", ErrSecretEmpty},
	{"a prefix alone", "whsec_", ErrSecretEmpty},
	{"the prefix of a private key alone", "whsk_", ErrSecretEmpty},
	{"the prefix of a public key alone", "whpk_", ErrSecretEmpty},
	{"padding alone", "whsec_====", ErrSecretEncoding},
	{"the URL-safe alphabet: another library may read other bytes", "whsec_-_-_", ErrSecretEncoding},
	{"the prefix misspelt", "hwsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", ErrSecretEncoding},
	{"the prefix twice", "whsec_whsec_MfKQ", ErrSecretEncoding},
	{"a sign that is no letter", "whsec_abc%", ErrSecretEncoding},
	{"a length that base64 cannot have", "whsec_abcde", ErrSecretEncoding},
	{"a line feed inside", "whsec_MfKQ\n9r8G", ErrSecretEncoding},
	{"padding in the middle", "whsec_AA==AA==", ErrSecretEncoding},
	{"too much padding", "whsec_AA===", ErrSecretEncoding},
	{"a byte too large", base64.StdEncoding.EncodeToString(make([]byte, maxShared+1)), ErrSecretSize},
	{"a private key cut short", "whsk_" + keyPair[:40], ErrSecretSize},
	{"a public key that is too long", "whpk_" + keyPair, ErrSecretSize},
	{"a private key with another public half", "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlaaaaaaaaaaAJ6p9lMicMFs6Kvg==", ErrSecretPair},
}

func TestParseSecretRefuses(t *testing.T) {
	for _, test := range refusedSecrets {
		s, err := ParseSecret(test.text)
		if !errors.Is(err, test.want) || s != (Secret{}) {
			t.Errorf("%s: got %v, want %v", test.why, err, test.want)
		}
	}
}

func TestParseKeys(t *testing.T) {
	for _, test := range []struct {
		why, text string
		parse     func(string) (Secret, error)
		want      string
		err       error
	}{
		{"a seed without prefix", seed, ParsePrivateKey, "whsk_" + keyPair, nil},
		{"a pair without prefix", keyPair, ParsePrivateKey, "whsk_" + keyPair, nil},
		{"a public key without prefix", public + "\n", ParsePublicKey, "whpk_" + public, nil},
		{"a public key where a private one is wanted", "whpk_" + public, ParsePrivateKey, "", ErrSecretPrefix},
		{"a private key where a public one is wanted", "whsk_" + keyPair, ParsePublicKey, "", ErrSecretPrefix},
		{"a shared secret where a key is wanted", "whsec_" + public, ParsePublicKey, "", ErrSecretPrefix},
		{"nothing", "", ParsePrivateKey, "", ErrSecretEmpty},
	} {
		s, err := test.parse(test.text)
		if got := s.Reveal(); got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: got %s, %v; want %s, %v", test.why, got, err, test.want, test.err)
		}
	}
}

func TestSecretKinds(t *testing.T) {
	private := NewKeyPair()
	for _, test := range []struct {
		why    string
		secret Secret
		scheme Scheme
		size   int
		signs  bool
		prefix string
		public string
	}{
		{"a shared secret", NewSecret(), V1, 32, true, "whsec_", "whsec_"},
		{"a private key", private, V1a, 32, true, "whsk_", "whpk_"},
		{"its public key", private.Public(), V1a, 32, false, "whpk_", "whpk_"},
		{"the zero Secret", Secret{}, "", 0, false, "", ""},
	} {
		s := test.secret
		if s.Scheme() != test.scheme || s.Size() != test.size || s.CanSign() != test.signs ||
			!strings.HasPrefix(s.Reveal(), test.prefix) || !strings.HasPrefix(s.Public().Reveal(), test.public) {
			t.Errorf("%s: got scheme %q, size %d, signs %v", test.why, s.Scheme(), s.Size(), s.CanSign())
		}
		if test.prefix != "" {
			if again := parse(t, s.Reveal()); again.Reveal() != s.Reveal() {
				t.Errorf("%s: does not survive its own text", test.why)
			}
		}
	}
	for _, create := range []func() Secret{NewSecret, NewKeyPair} {
		if one, two := create(), create(); one.Reveal() == two.Reveal() {
			t.Error("two new secrets are the same")
		}
	}
	if got := parse(t, "whsk_"+seed).Public().Reveal(); got != "whpk_"+public {
		t.Errorf("the public key of the published pair: got %s", got)
	}
}

// A secret is not to be seen, however it is printed.
func TestSecretRedacted(t *testing.T) {
	type holder struct {
		Open   Secret
		hidden Secret // fmt asks no methods of an unexported field
		ptr    *Secret
	}
	for _, s := range []Secret{parse(t, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), parse(t, "whsk_"+keyPair)} {
		var out bytes.Buffer
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%08b", "%c", "%t", "%p", "%w"} {
			fmt.Fprintf(&out, verb+"\n", s)
			fmt.Fprintf(&out, verb+"\n", &s)
			fmt.Fprintf(&out, verb+"\n", []Secret{s})
			fmt.Fprintf(&out, verb+"\n", holder{s, s, &s})
		}
		fmt.Fprintln(&out, s, s.String())
		if got, want := out.String()[:len(Redacted)], Redacted; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("m", "secret", s, "holder", holder{s, s, &s})
		slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "secret", s, "holder", holder{s, s, &s})
		encoded, err := json.Marshal(map[string]any{"secret": s, "holder": holder{s, s, &s}})
		if err != nil {
			t.Fatal(err)
		}
		out.Write(encoded)
		if encoded, err = xml.Marshal(holder{s, s, &s}); err != nil {
			t.Fatal(err)
		}
		out.Write(encoded)
		raw := s.k.raw
		if raw == nil {
			raw = s.k.private
		}
		for _, form := range []string{
			strings.TrimRight(s.Reveal()[6:], "="), string(raw[:5]), fmt.Sprintf("%x", raw[:5]), fmt.Sprintf("%X", raw[:5]),
			strings.Trim(fmt.Sprint(raw[:5]), "[]"), fmt.Sprintf("0x%x, 0x%x", raw[0], raw[1]),
		} {
			if strings.Contains(out.String(), form) {
				t.Errorf("the secret shows as %q", form)
			}
		}
	}
}

func FuzzParseSecret(f *testing.F) {
	for _, test := range refusedSecrets {
		f.Add(test.text)
	}
	for _, text := range []string{"whsec_c2VjcmV0IQ", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsk_" + seed, "whsk_" + keyPair, "whpk_" + public} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []func(string) (Secret, error){ParseSecret, ParsePrivateKey, ParsePublicKey} {
			s, err := parse(text)
			if err != nil {
				if len(text) > 8 && strings.Contains(err.Error(), text) {
					t.Fatal("the error shows the text")
				}
				continue
			}
			again, err := ParseSecret(s.Reveal())
			if err != nil || again.Reveal() != s.Reveal() || again.Scheme() != s.Scheme() {
				t.Fatalf("%q does not survive its own text: %v", text, err)
			}
			if _, err := s.AppendSignature(nil, "msg_1", 1, []byte(text)); (err == nil) != s.CanSign() {
				t.Fatalf("CanSign is %v, and signing gives %v", s.CanSign(), err)
			}
		}
	})
}
