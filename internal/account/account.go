// Package account is the room of the accounts: whose rows are whose, and which
// version of the interface each is pinned to.
package account

import (
	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/version"
)

// Default is the id of the account that exists from the first start and that
// the admin key belongs to.
const Default = 1

// An Account owns rows and keys.
type Account struct {
	Name       string  `json:"name" parley:"required,max=200,line,unique" about:"Unique in the service."`
	APIVersion *string `json:"api_version" about:"The version it is pinned to; null until its first request."`
}

// Resource defines the room. A pin must be a version of the calendar.
func Resource(calendar *version.Calendar) *resource.Definition {
	return resource.Define("account", "accounts", resource.Rules[Account]{
		About:   "Whose rows are whose.",
		System:  true,
		Silent:  true,
		Filters: []string{"api_version"},
		Check: func(next, _ *Account) []problem.FieldError {
			if next.APIVersion == nil || calendar.Find(*next.APIVersion) != nil && calendar.Find(*next.APIVersion).Name == *next.APIVersion {
				return nil
			}
			return []problem.FieldError{{Pointer: "/api_version", Detail: "must be the name of a version, or null"}}
		},
		Keep: func(_ *Account, id int64) error {
			if id == Default {
				return problem.Conflict.New("The default account cannot be deleted.")
			}
			return nil
		},
	})
}
