// Package user is a person that tasks can be assigned to.
package user

import "github.com/parley-api/parley/resource"

// A User is a person known to an account.
type User struct {
	Name  string `json:"name" parley:"required,max=200,line" about:"What the person is called."`
	Email string `json:"email" parley:"required,max=254,format=email,unique" about:"Unique within the account."`
}

// Resource is the definition that a service opens.
var Resource = resource.Define("user", "users", resource.Rules[User]{
	About:   "A person that tasks can be assigned to.",
	Filters: []string{"email"},
})
