package store

import "context"

// EndpointEpoch returns a number that is another one after any endpoint was
// made, changed or deleted, by whichever node.
func (s *Store) EndpointEpoch(ctx context.Context) (int64, error) {
	return s.number(ctx, "SELECT endpoints FROM clock")
}

// Endpoint returns the row of an endpoint, whosever it is, or ErrNotFound.
func (s *Store) Endpoint(ctx context.Context, id int64) (Row, error) {
	as, err := s.EndpointEpoch(ctx)
	if err != nil {
		return Row{}, err
	}
	if !s.subs.fresh(as) {
		list, err := s.fanout.load(func(sql string, args []any, f func(cursor)) error { return s.read(ctx, sql, args, f) })
		if err != nil {
			return Row{}, err
		}
		s.subs.reset(list, as)
	}
	account, ok := s.subs.owner(id)
	if !ok {
		return Row{}, ErrNotFound
	}
	return s.Get(ctx, s.fanout.Endpoints, account, id)
}

// Every returns the rows of all accounts that have a value in a key column, up
// to a thousand. It reads the whole table: for those that stay small.
func (s *Store) Every(ctx context.Context, t *Table, column string, value any) ([]Row, error) {
	r, err := s.table(t)
	if err != nil {
		return nil, err
	}
	var rows []Row
	err = s.read(ctx, r.recordSQL+" WHERE k_"+column+" = $1 ORDER BY id LIMIT 1000", []any{value}, func(c cursor) {
		rows = append(rows, scanRecord(r, c).Row)
	})
	return rows, err
}
