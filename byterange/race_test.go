//go:build race

package byterange

// raced says that the test's program has the race detector, which allows 8128
// goroutines at most.
const raced = true
