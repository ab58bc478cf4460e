package user_test

import (
	"fmt"

	"github.com/parley-api/parley/rooms/user"
)

// A service opens the definition; a program may look at it.
func Example() {
	fmt.Println(user.Resource.Plural(), user.Resource.EventTypes())
	// Output: users [user.created user.updated user.deleted]
}
