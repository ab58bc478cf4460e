package hand

// A group gathers writes that wait at the same time, so that they share a
// transaction and its flush.
type group[T any] struct{ queue chan T }

// The most writes of one transaction.
const most = 512

func newGroup[T any]() group[T] { return group[T]{make(chan T, 2*most)} }

// take waits for a write and returns it with those behind it, without waiting
// for more. It returns none when the queue is closed.
func (g group[T]) take(batch []T) []T {
	first, open := <-g.queue
	if !open {
		return nil
	}
	batch = append(batch[:0], first)
	for len(batch) < most {
		select {
		case next, open := <-g.queue:
			if !open {
				return batch
			}
			batch = append(batch, next)
		default:
			return batch
		}
	}
	return batch
}
