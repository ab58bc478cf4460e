//go:build !linux

package byterange

func hold(uintptr) {}
func let(uintptr)  {}
