package bucket_test

import (
	"fmt"

	"github.com/parley-api/parley/blob/bucket"
)

func Example() {
	a, err := bucket.Parse("s3://KEY:SECRET@s3.example.com/company/parley?region=eu-central-1")
	fmt.Println(a, a.TLS, err)
	// b, err := bucket.Open(ctx, a, "/var/tmp/uploads")
	// Output: s3://s3.example.com/company/parley/ true <nil>
}
