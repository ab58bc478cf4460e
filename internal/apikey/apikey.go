// Package apikey is the room of the API keys. A key is shown once, when it is
// made; the service keeps its hash.
package apikey

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
)

// Prefix begins every key, so that a leaked one is recognised.
const Prefix = "pk_"

// A Key lets its holder act for an account, within its scopes.
type Key struct {
	Name       string     `json:"name" parley:"required,max=200,line" about:"What it is used for."`
	Scopes     []string   `json:"scopes" parley:"required,min=1,max=100" about:"collection:read, collection:write, or admin."`
	AccountID  *int64     `json:"account_id" parley:"ref=accounts,immutable" about:"Whose rows it opens; without it those of the account that makes it."`
	LastUsedAt *time.Time `json:"last_used_at" parley:"readonly" about:"To the minute."`
	Hash       string     `json:"hash" parley:"hidden,unique"`
}

// Hash is what is kept of a key.
func Hash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// New makes a key of 256 random bits.
func New() string {
	var b [32]byte
	rand.Read(b[:])
	return Prefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// Resource defines the room. Known are the scopes that exist.
func Resource(known []string) *resource.Definition {
	return resource.Define("api-key", "api-keys", resource.Rules[Key]{
		About:   "Opens the rows of an account to whoever holds it.",
		System:  true,
		Silent:  true,
		Filters: []string{"account_id"},
		Check: func(next, _ *Key) []problem.FieldError {
			for _, s := range next.Scopes {
				if !slices.Contains(known, s) {
					return []problem.FieldError{{Pointer: "/scopes", Detail: "must be of: " + strings.Join(known, ", ")}}
				}
			}
			return nil
		},
		Shown: "key",
		Reveal: func(next *Key, account int64) (string, error) {
			if next.AccountID == nil {
				next.AccountID = &account
			}
			key := New()
			next.Hash = Hash(key)
			return key, nil
		},
	})
}
