package bucket

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// An Address says where a bucket is and how to get in.
type Address struct {
	Host   string // and perhaps port
	Bucket string
	Prefix string // of every object's name; "" or ends with a slash
	Key    string
	Secret string
	Region string // "" means that the library finds it out
	TLS    bool
	Path   bool // the bucket is named in the path, not in the host's name
}

// Parse reads an address of the form
//
//	s3://KEY:SECRET@HOST[:PORT]/BUCKET[/PREFIX][?region=R&tls=on|off&style=path|host]
//
// The key and the secret are escaped as in any URL, and may be left out to be
// filled in. TLS is on, but off for a loopback address; the style is path for
// an IP address and localhost, and else what the library finds right. The error
// says what is wrong and repeats nothing of the text, which may hold a secret.
func Parse(text string) (*Address, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.Hostname() == "" || u.Fragment != "" || u.Opaque != "" {
		return nil, errors.New("must look like s3://HOST/BUCKET")
	}
	a := &Address{Host: u.Host}
	if u.User != nil {
		a.Key = u.User.Username()
		a.Secret, _ = u.User.Password()
	}
	if (a.Key == "") != (a.Secret == "") {
		return nil, errors.New("the key and the secret go together")
	}
	a.Bucket, a.Prefix, _ = strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if a.Bucket == "" {
		return nil, errors.New("must name a bucket: s3://HOST/BUCKET")
	}
	if a.Prefix != "" && !strings.HasSuffix(a.Prefix, "/") {
		a.Prefix += "/"
	}
	local, numeric := locate(u.Hostname())
	a.TLS, a.Path = !local, local || numeric
	return a, a.options(u.RawQuery)
}

// locate reports whether a host is this machine, and whether it is a number.
func locate(host string) (local, numeric bool) {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host == "localhost" || strings.HasSuffix(host, ".localhost"), false
	}
	return ip.IsLoopback(), true
}

func (a *Address) options(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("the part behind ? is malformed")
	}
	for name, v := range values {
		switch value := v[0]; {
		case len(v) > 1:
			return errors.New("an option stands there twice")
		case name == "region" && value != "":
			a.Region = value
		case name == "tls" && (value == "on" || value == "off"):
			a.TLS = value == "on"
		case name == "style" && (value == "path" || value == "host"):
			a.Path = value == "path"
		default:
			return errors.New("the options are region=NAME, tls=on or off, and style=path or host")
		}
	}
	return nil
}

// String names the place without the key and the secret, for logs.
func (a *Address) String() string {
	host := a.Host
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = strings.Trim(host, "[]")
	}
	return "s3://" + host + "/" + a.Bucket + "/" + a.Prefix
}
