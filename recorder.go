package parley

import (
	"io"
	"net/http"

	"github.com/parley-api/parley/internal/head"
)

// A recorder remembers what was answered. It hides nothing of the writer
// beneath: the kernel can still copy a file, and a controller finds it.
type recorder struct {
	http.ResponseWriter
	conn   *head.Conn  // that takes the fields of the header; nil means that the writer does
	fields http.Header // for conn
	status int
	bytes  int64
}

// Header is to be filled before the first byte or WriteHeader, and not after.
func (r *recorder) Header() http.Header {
	if r.conn != nil {
		return r.fields
	}
	return r.ResponseWriter.Header()
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= 200 {
		r.status = status
		if r.conn != nil {
			r.conn.Put(r.fields, r.ResponseWriter.Header())
		}
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	r.begin()
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

func (r *recorder) ReadFrom(src io.Reader) (n int64, err error) {
	r.begin()
	if to, ok := r.ResponseWriter.(io.ReaderFrom); ok {
		n, err = to.ReadFrom(src)
	} else {
		n, err = io.Copy(r.ResponseWriter, src)
	}
	r.bytes += n
	return n, err
}

func (r *recorder) begin() {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
}

// FlushError is for http.ResponseController.
func (r *recorder) FlushError() error {
	r.begin()
	return http.NewResponseController(r.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
