package event

import (
	"encoding/json"
	"strconv"
	"time"
)

// AppendJSON writes the attempt as it is shown: number, started_at,
// duration_ms, status_code, error and response.
func (a *Attempt) AppendJSON(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"number":`...), int64(a.Number), 10)
	dst = append(dst, `,"started_at":"`...)
	dst = time.UnixMicro(a.Started).UTC().AppendFormat(dst, "2006-01-02T15:04:05.000000Z")
	dst = append(dst, `","duration_ms":`...)
	dst = strconv.AppendFloat(dst, float64(a.Duration)/1000, 'f', -1, 64)
	dst = append(dst, `,"status_code":`...)
	if a.Status == 0 {
		dst = append(dst, "null"...)
	} else {
		dst = strconv.AppendInt(dst, int64(a.Status), 10)
	}
	dst = append(dst, `,"error":`...)
	if a.Error == "" {
		dst = append(dst, "null"...)
	} else {
		dst = appendText(dst, a.Error)
	}
	dst = append(dst, `,"response":`...)
	dst = appendText(dst, string(a.Response))
	return append(dst, '}')
}

// appendText writes a JSON string. What is not UTF-8 is replaced.
func appendText(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, `""`...)
	}
	text, _ := json.Marshal(s)
	return append(dst, text...)
}
