package dispatch

// A ring is a queue that grows and, once empty, lets a large buffer go. The
// zero value is an empty one.
type ring[T any] struct {
	buf  []T
	head int
	n    int
}

func (r *ring[T]) push(v T) {
	if r.n == len(r.buf) {
		grown := make([]T, max(4, 2*r.n))
		for i := range r.n {
			grown[i] = r.buf[(r.head+i)%len(r.buf)]
		}
		r.buf, r.head = grown, 0
	}
	r.buf[(r.head+r.n)%len(r.buf)] = v
	r.n++
}

// pop takes the oldest; the ring must not be empty.
func (r *ring[T]) pop() T {
	var zero T
	v := r.buf[r.head]
	r.buf[r.head] = zero
	r.head = (r.head + 1) % len(r.buf)
	if r.n--; r.n == 0 && len(r.buf) > 64 {
		r.buf, r.head = nil, 0
	}
	return v
}

// at returns the i-th oldest.
func (r *ring[T]) at(i int) *T { return &r.buf[(r.head+i)%len(r.buf)] }
