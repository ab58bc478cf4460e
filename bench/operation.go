package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"

	"github.com/parley-api/parley/bench/internal/server"
)

// An operation is a kind of request that is measured.
type operation struct {
	name   string
	method string
	conns  int // connections; 0 means as many as are set
}

var (
	getOne = operation{name: "GET one", method: http.MethodGet}
	post   = operation{name: "POST", method: http.MethodPost}
	patch  = operation{name: "PATCH", method: http.MethodPatch}

	list       = operation{name: server.List, method: http.MethodGet}
	listDeep   = operation{name: server.Deep, method: http.MethodGet}
	token      = operation{name: server.Token, method: http.MethodGet}
	tokenDeep  = operation{name: server.TokenDeep, method: http.MethodGet}
	offsetDeep = operation{name: server.OffsetDeep, method: http.MethodGet, conns: 4} // they are slow
	listTotal  = operation{name: server.Total, method: http.MethodGet, conns: 4}

	// Those of every server with a database, and all there are.
	single     = []operation{getOne, post, patch}
	operations = append(single[:3:3], list, listDeep, token, tokenDeep, offsetDeep, listTotal)
)

// users is the number of people that tasks are assigned to.
const users = 100

// status returns the status that every answer of a server must have.
func (o operation) status(r *server.Ready) int {
	if o == post {
		return r.Created
	}
	return http.StatusOK
}

// requests returns what makes the requests to a server: ids and bodies vary,
// ids are of rows that exist, and every PATCH changes something.
func (o operation) requests(r *server.Ready, tasks int) func(dst []byte, random *rand.Rand) []byte {
	fields := " HTTP/1.1\r\nHost: " + r.Addr + "\r\nUser-Agent: parley-bench\r\nAccept: application/json\r\n"
	if r.Token != "" {
		fields += "Authorization: " + r.Token + "\r\n"
	}
	start := o.method + " " + r.Collection
	path := func(dst []byte, random *rand.Rand) []byte {
		id := 1 + random.Int64N(int64(tasks))
		dst = append(append(dst, start...), '/')
		if r.ID == "%d" {
			return strconv.AppendInt(dst, id, 10)
		}
		return fmt.Appendf(dst, r.ID, id)
	}
	fieldsOfBody := fields + "Content-Type: application/json\r\nContent-Length: "
	if queries := r.Lists[o.name]; len(queries) > 0 {
		return func(dst []byte, random *rand.Rand) []byte {
			dst = append(append(dst, start...), queries[random.IntN(len(queries))]...)
			return append(append(dst, fields...), "\r\n"...)
		}
	}
	switch o {
	case getOne:
		return func(dst []byte, random *rand.Rand) []byte {
			return append(append(path(dst, random), fields...), "\r\n"...)
		}
	case post:
		return func(dst []byte, random *rand.Rand) []byte {
			var room [128]byte
			body := strconv.AppendInt(append(room[:0], `{"title":"Call the supplier about order `...), random.Int64N(1e9), 10)
			body = strconv.AppendInt(append(body, `","assignee_id":`...), 1+random.Int64N(users), 10)
			return appendBody(append(append(dst, start...), fieldsOfBody...), append(body, '}'))
		}
	default:
		return func(dst []byte, random *rand.Rand) []byte {
			var room [128]byte
			body := strconv.AppendInt(append(room[:0], `{"title":"Call the supplier again about order `...), random.Int64N(1e9), 10)
			body = append(body, `","status":"in_progress"}`...)
			return appendBody(append(path(dst, random), fieldsOfBody...), body)
		}
	}
}

// appendBody ends a head with the length of the body, and adds the body.
func appendBody(dst, body []byte) []byte {
	dst = strconv.AppendInt(dst, int64(len(body)), 10)
	return append(append(dst, "\r\n\r\n"...), body...)
}
