package file_test

import (
	"fmt"

	"github.com/parley-api/parley/rooms/file"
)

// A service opens the definition; a program may look at it.
func Example() {
	fmt.Println(file.Resource.Plural(), file.Resource.EventTypes(), file.Resource.ContentTypes())
	// Output: files [file.created file.updated file.deleted] [application/octet-stream]
}
