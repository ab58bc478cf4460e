package byterange

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// randomHeader makes a header that is valid but for a few, and the size of
// what it is sent for.
func randomHeader(seed uint64) (string, int64) {
	r := rand.New(rand.NewPCG(seed, 1))
	size := r.Int64N(600)
	n := 1 + r.IntN(8)
	if r.IntN(20) == 0 {
		n = 300 + r.IntN(300)
	}
	var b strings.Builder
	b.WriteString([]string{"bytes=", "bytes=", "bytes=", "BYTES=", "lines="}[r.IntN(5)])
	for i := range n {
		if i > 0 {
			b.WriteString([]string{",", ",", ", ", " ,", ",,"}[r.IntN(5)])
		}
		first := r.Int64N(size + 10)
		switch last := first + r.Int64N(12); r.IntN(16) {
		case 0:
			fmt.Fprintf(&b, "%d-", max(first, size-5))
		case 1:
			fmt.Fprintf(&b, "-%d", r.Int64N(8))
		case 2:
			fmt.Fprintf(&b, "%d-99999999999999999999", max(first, size-5))
		case 3:
			if r.IntN(20) == 0 {
				fmt.Fprintf(&b, "%d-%d", last+1, first)
				continue
			}
			fallthrough
		default:
			fmt.Fprintf(&b, "%d-%d", first, last)
		}
	}
	return b.String(), size
}
