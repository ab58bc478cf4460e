//go:build !linux

package byterange

import "syscall"

const parcels = false

func (p *parcel) push(syscall.RawConn) (int64, error) { panic("no parcels here") }
