package endpoint

import (
	"time"

	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/store"
)

// A Rotation gives an endpoint a new key. The old ones sign as well until the
// overlap ends.
type Rotation struct {
	OverlapSeconds *int64    `json:"overlap_seconds" parley:"min=0,max=2592000" about:"How long the keys before it go on signing; a day by default."`
	OverlapEndsAt  time.Time `json:"overlap_ends_at" parley:"readonly"`
	PublicKey      *string   `json:"public_key,omitzero" parley:"readonly" about:"Of scheme v1a."`
	Endpoint       int64     `json:"endpoint" parley:"hidden"`
}

const day = 86400

// maxKeys bounds how many keys sign at once.
const maxKeys = 4

// Rotations defines the rotations of an endpoint's key.
func Rotations(endpoints *resource.Definition, now func() time.Time) *resource.Definition {
	return resource.Define("secret-rotation", "secret-rotations", resource.Rules[Rotation]{
		About:   "A new key for an endpoint.",
		Silent:  true,
		Parent:  resource.Parent{Of: endpoints, Member: "endpoint"},
		Methods: []resource.Kind{resource.List, resource.Create, resource.Read},
		Shown:   "secret",
		Along: func(next *Rotation, parent *store.Row) (string, []store.Write, error) {
			byDefault(&next.OverlapSeconds, day)
			next.OverlapEndsAt = now().UTC().Add(time.Duration(*next.OverlapSeconds) * time.Second).Truncate(time.Microsecond)
			var e Endpoint
			if err := endpoints.Decode(parent.Doc, &e); err != nil {
				return "", nil, err
			}
			secret := e.addKey(next.OverlapEndsAt)
			fresh := e.Keys[0]
			next.PublicKey = e.PublicKey
			add := func(row store.Row) (*store.Write, error) {
				var e Endpoint
				if err := endpoints.Decode(row.Doc, &e); err != nil {
					return nil, err
				}
				old := e.Keys
				e.addKey(next.OverlapEndsAt)
				e.Keys[0], e.PublicKey = fresh, next.PublicKey
				if len(old) >= maxKeys {
					e.Keys = e.Keys[:maxKeys]
				}
				w := endpoints.Record(&e)
				w.Op, w.ID, w.IfRev = store.Update, row.ID, row.Rev
				return &w, nil
			}
			w, err := add(*parent)
			if err != nil {
				return "", nil, err
			}
			w.Redo = add
			return secret, []store.Write{*w}, nil
		},
	})
}
