package image_test

import (
	"fmt"

	"github.com/parley-api/parley/rooms/image"
)

func ExampleSniff() {
	fmt.Println(image.Sniff([]byte("\x89PNG\r\n\x1a\n…")))
	fmt.Printf("%q\n", image.Sniff([]byte("<svg onload='alert(1)'>")))
	// Output:
	// image/png
	// ""
}
