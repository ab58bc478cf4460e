//go:build !race

package byterange

const raced = false
